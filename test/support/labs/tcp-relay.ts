import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { dial } from "../../../activator/connect/dial.ts";
import type { Target } from "../../../activator/sandbox/resolve.ts";
import { BufferLoans } from "../../../activator/socket/read-place.ts";
import { adoptAccepted, plainAcceptedSocket } from "../../../activator/socket/wire-socket.ts";
import { Sweep } from "../../../activator/sweep.ts";
import { TcpClient } from "../../../activator/tcp-front/connection/tcp-client.ts";
import { relayTcp } from "../../../activator/tcp-front/connection/tcp-tunnel.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { dialled } from "../proxy-path.ts";

type RelayArguments = Parameters<typeof relayTcp>;

export interface TcpRelay extends Disposable {
  readonly sweep: Sweep;
  readonly client: Socket;
  /** How the relay ended. */
  readonly ended: Promise<string>;
  /** Its sandbox is suspended. */
  suspend(): void;
}

export interface TcpRelayOptions {
  readonly clock?: Clock;
  readonly tunnelIdleMs?: number;
  readonly clientSends?: (connection: Parameters<RelayArguments[2]>[0]) => void;
}

/** A client on a raw connection, which is relayed to the Pod `p1` at that port of this machine. */
export async function openTcpRelay(
  port: number,
  { clock = systemClock, tunnelIdleMs = 0, clientSends = () => {} }: TcpRelayOptions = {},
): Promise<TcpRelay> {
  using opened = new DisposableStack();
  const sweep = opened.use(new Sweep(clock));
  const options = { loans: new BufferLoans(8), clock, sweep, tunnelIdleMs, tunnelLifetimeMs: 0 };
  const target: Target = { namespace: "default", ip: "127.0.0.1", port, podUid: "p1", probes: [], young: false };
  const ended = Promise.withResolvers<string>();
  let open: Parameters<RelayArguments[2]>[0] | undefined;
  const listener = { moved() {}, clientSpoke() {}, sandboxSpoke() {}, requestEnded() {}, sandboxEnded() {} };
  const front = createServer(plainAcceptedSocket, async (accepted) => {
    const client = Promise.withResolvers<TcpClient>();
    adoptAccepted(accepted, (socket) => {
      const made = new TcpClient(socket, clock);
      client.resolve(made);
      return made;
    });
    const socket = await dial(target, 5_000, systemClock, new AbortController().signal);
    const onOpen: RelayArguments[2] = (connection) => {
      open = connection;
      return { ...listener, clientSends: () => clientSends(connection) };
    };
    ended.resolve(await relayTcp(await client.promise, { target, socket }, onOpen, options));
  });
  opened.defer(() => void front.close());
  await once(front.listen(0, "127.0.0.1"), "listening");
  const client = await dialled((front.address() as AddressInfo).port);
  opened.defer(() => void client.destroy());
  const closing = opened.move();
  return {
    ...{ sweep, client, ended: ended.promise },
    suspend: () => open?.close(),
    [Symbol.dispose]: () => closing.dispose(),
  };
}
