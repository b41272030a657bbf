import { Outgoing } from "../../socket/outgoing.ts";
import type { BufferLoans } from "../../socket/read-place.ts";
import { RelaySide } from "../../socket/relay.ts";
import type { Exchange } from "../front/exchange.ts";
import type { ResponseHead } from "../response-head.ts";
import { switchText } from "./head-text.ts";
import type { PodConnection } from "./pod-connection.ts";

/** Passes bytes both ways, of whatever protocol, until both sides have ended; an end of one side is passed on alone. */
export function startTunnel(
  exchange: Exchange,
  pod: PodConnection,
  head: ResponseHead,
  early: Buffer,
  loans: BufferLoans,
): void {
  const { connection } = exchange;
  const client = connection.socket;
  exchange.begin(head.status, true);
  const ahead = connection.handOver();
  pod.place.release();
  let open = 2;
  const closed = () => {
    open -= 1;
    if (open === 0) connection.closed();
  };
  const passed = (length: number) => {
    exchange.bytesOut += length;
  };
  client.reader = new RelaySide(client, pod.socket, loans, { passed: () => {}, closed });
  pod.socket.reader = new RelaySide(pod.socket, client, loans, { passed, closed });
  const down = new Outgoing(client);
  down.text(switchText(head));
  if (early.length > 0) down.piece(Buffer.from(early));
  exchange.bytesOut += early.length;
  down.flush();
  if (ahead) pod.socket.write(ahead);
  client.resume();
  pod.socket.resume();
}
