import type { ConnectDeps } from "../../connect/connect-request.ts";
import { type ConnectOptions, type Upstream, upstreamOf } from "../../connect/connector.ts";
import type { Dial, DialListener } from "../../connect/dial.ts";
import type { RequestHead } from "../../request.ts";
import type { Target } from "../../sandbox/resolve.ts";
import type { PodSessions } from "./pod-sessions.ts";

type Connections = ConnectDeps["connector"];

/** Provides connections for calls of gRPC, which share one as long as it has room. A new one serves no request before. */
export class CallConnector implements Connections {
  readonly #connections: Connections;
  readonly #sessions: PodSessions;

  constructor(connections: Connections, sessions: PodSessions) {
    this.#connections = connections;
    this.#sessions = sessions;
  }

  /** A shared connection, for a call alone, in the step that sends it: what is not sent closes its connection. */
  idle(target: Target, head: RequestHead | undefined): Upstream | undefined {
    const socket = head?.grpc && this.#sessions.socketFor(target);
    return socket && upstreamOf(target, socket);
  }

  /** Always a new connection: the caller may close it, and other calls use a shared one. */
  connect(target: Target, _head: RequestHead | undefined, options: ConnectOptions): Promise<Upstream> {
    return this.#connections.connect(target, undefined, options);
  }

  begin(target: Target, listener: DialListener): Dial {
    return this.#connections.begin(target, listener);
  }
}
