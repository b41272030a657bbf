import type { Clock } from "../../../lib/clock.ts";
import { WebSocketFrames } from "../../activity/web-socket-frames.ts";
import type { CarryOptions } from "../../carry/carry.ts";
import { Outgoing } from "../../socket/outgoing.ts";
import type { BufferLoans } from "../../socket/read-place.ts";
import { endRelay, RelaySide } from "../../socket/relay.ts";
import type { Exchange } from "../front/exchange.ts";
import type { ResponseHead } from "../response-head.ts";
import { switchText } from "./head-text.ts";
import type { PodConnection } from "./pod-connection.ts";

export interface TunnelOptions {
  readonly loans: BufferLoans;
  readonly clock: Clock;
  readonly onOpen: CarryOptions["onOpen"] | undefined;
}

/** A close frame that says 1001, "going away" (RFC 6455, 5.5.1 and 7.4.1). */
const goingAway = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

/** Passes bytes both ways, of whatever protocol, until both sides have ended; an end of one side is passed on alone. */
export function startTunnel(
  exchange: Exchange,
  pod: PodConnection,
  { head, early }: { readonly head: ResponseHead; readonly early: Buffer },
  { loans, clock, onOpen }: TunnelOptions,
): void {
  const { connection } = exchange;
  const client = connection.socket;
  exchange.begin(head.status, true);
  const ahead = connection.handOver();
  pod.place.release();
  const frames = isWebSocket(head) ? { up: new WebSocketFrames(), down: new WebSocketFrames() } : undefined;
  const listener = onOpen?.({
    close() {
      // In the middle of a frame it would be taken for a part of it.
      if (frames?.down.atBoundary) client.write(goingAway);
      endRelay(pod.socket, client, clock);
    },
  });
  const moved = (direction: "up" | "down", length: number, bytes: Buffer) => {
    const counts = frames ? frames[direction].sawData(bytes, length) : length > 0;
    if (counts) listener?.moved();
    if (direction === "down") exchange.bytesOut += length;
  };
  let open = 2;
  const closed = () => {
    open -= 1;
    if (open === 0) connection.closed();
  };
  client.reader = new RelaySide(client, pod.socket, loans, { passed: moved.bind(undefined, "up"), closed });
  pod.socket.reader = new RelaySide(pod.socket, client, loans, { passed: moved.bind(undefined, "down"), closed });
  const down = new Outgoing(client);
  down.text(switchText(head));
  if (early.length > 0) down.piece(Buffer.from(early));
  moved("down", early.length, early);
  down.flush();
  if (ahead) {
    moved("up", ahead.length, ahead);
    pod.socket.write(ahead);
  }
  client.resume();
  pod.socket.resume();
}

const isWebSocket = (head: ResponseHead): boolean => head.valueOf("upgrade")?.toLowerCase() === "websocket";
