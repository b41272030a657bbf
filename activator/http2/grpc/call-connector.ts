import { onAbort } from "../../../lib/guard/on-abort.ts";
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

  /** A shared connection, for a call alone. */
  idle(target: Target, head: RequestHead | undefined): Upstream | undefined {
    const socket = head?.grpc && this.#sessions.socketFor(target);
    return socket && { ...upstreamOf(target, socket), isShared: true };
  }

  /** A shared connection if one has told meanwhile that it has room, or a new one. Not while the sandbox says that it takes no call. */
  async connect(target: Target, head: RequestHead | undefined, options: ConnectOptions): Promise<Upstream> {
    const shared = this.idle(target, head);
    if (shared) return shared;
    if (head?.grpc) await this.#untilSettled(target, options.signal);
    while (head?.grpc && this.#sessions.takesNone(target)) await this.#untilSettled(target, options.signal);
    return this.idle(target, head) ?? (await this.#connections.connect(target, undefined, options));
  }

  /** Waits while the first connection to that port has not told how many calls it takes, or takes none. */
  async #untilSettled(target: Target, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    using waits = this.#sessions.whenSettled(target, resolve);
    if (!waits) return;
    using _leaving = onAbort(signal, () => reject(signal.reason));
    await promise;
  }

  begin(target: Target, listener: DialListener): Dial {
    return this.#connections.begin(target, listener);
  }
}
