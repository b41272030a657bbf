import { runGuarded } from "../../../lib/guard/guard.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { WebSocketFrames } from "../../activity/web-socket-frames.ts";
import { clientView } from "../../headers/base-path.ts";
import { ownLines } from "../../headers/own-fields.ts";
import type { OpenListener, ProxyRequestOptions, ResponseRules } from "../../proxy-interface.ts";
import { Outgoing } from "../../socket/outgoing.ts";
import { ownCopy } from "../../socket/read-place.ts";
import {
  endRelay,
  endWhenQuiet,
  type Patience,
  type RelayListener,
  RelaySide,
  resetUnlessEnded,
} from "../../socket/relay.ts";
import type { WireSocket } from "../../socket/wire-socket.ts";
import type { Exchange } from "../front/exchange.ts";
import type { ResponseHead } from "../parse/response-head.ts";
import { switchText } from "./head-text.ts";
import type { PodConnection } from "./pod-connection.ts";

export interface TunnelOptions extends ResponseRules {
  readonly clock: Clock;
  readonly onOpen?: ProxyRequestOptions["onOpen"] | undefined;
}

/** A close frame that says 1001, "going away" (RFC 6455, 5.5.1 and 7.4.1). */
const goingAway = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

/** Relays bytes both ways, of any protocol, until both sides have ended; the end of one side is forwarded alone. */
export function startTunnel(
  exchange: Exchange,
  pod: PodConnection,
  { head, early }: { readonly head: ResponseHead; readonly early: Buffer },
  { clock, onOpen, ...rules }: TunnelOptions,
): void {
  const { connection } = exchange;
  const client = connection.socket;
  exchange.begin(head.status, true);
  const frames = isWebSocket(head) ? { up: new WebSocketFrames(), down: new WebSocketFrames() } : undefined;
  let [leaving, closing] = [false, false];
  const end = (patience: Patience) => {
    leaving = true;
    // Within a frame it would be read as a part of that frame.
    if (!frames || frames.down.isInFrame || !client.writable) return false;
    if (frames.down.mayInsert) client.write(goingAway);
    else if (!closing) return false; // the sandbox has said its last, and ends it
    endRelay(pod.socket, client, clock, patience);
    return true;
  };
  const { ahead, ended, place } = connection.handOver(() => end("grace"));
  const listener = onOpen?.({
    close() {
      closing = true;
      if (!frames) return endWhenQuiet(pod.socket, client, { up, down }, clock);
      up.drop();
      if (end("untilTaken")) return;
      if (pod.socket.readableEnded) endRelay(pod.socket, client, clock, "untilTaken");
      else resetUnlessEnded(pod.socket, client, clock);
    },
  });
  const clientSent = (length: number, bytes: Buffer) => {
    if (frames ? frames.up.sawData(bytes, length) : length > 0) listener?.clientSpoke();
  };
  const sandboxSent = (length: number, bytes: Buffer) => {
    exchange.bytesOut += length;
    // After these bytes are written.
    if (leaving) queueMicrotask(() => runGuarded("pod-connection", () => end(closing ? "untilTaken" : "grace")));
    const before = frames?.down.dataFrames;
    if ((frames ? !frames.down.sawData(bytes, length) : length === 0) || closing) return;
    // The rest of a frame that began before answers nothing.
    if (before !== undefined && frames?.down.dataFrames === before) listener?.moved();
    else listener?.sandboxSpoke();
  };
  const closed = afterBoth(() => connection.closed());
  const up = new RelaySide(client, pod.socket, place, toPod(listener, { clock, passed: clientSent, closed }));
  const fromPod = { clock, passed: sandboxSent, closed: podClosed(listener, closed), outlivesSource: true } as const;
  const down = new RelaySide(pod.socket, client, pod.handOver(), fromPod);
  [client.reader, pod.socket.reader] = [up, down];
  sendHead(client, switchText(head, ownLines(rules), clientView(exchange.head, rules)), early, down);
  sandboxSent(early.length, early);
  if (ahead) {
    clientSent(ahead.length, ahead);
    pod.socket.write(ahead);
    up.moved();
  }
  if (ended) up.ended(); // the client has sent everything and waits for the answer
  client.readOn();
  pod.readOn();
}

/** What its client still takes needs no Pod. */
function podClosed(listener: OpenListener | undefined, closed: () => void): () => void {
  return () => {
    listener?.sandboxEnded();
    closed();
  };
}

/** A function to call for each of two sides; the second call calls `end`. */
function afterBoth(end: () => void): () => void {
  let open = 2;
  return () => {
    open -= 1;
    if (open === 0) end();
  };
}

/** A connection to a fenced Pod closes before bytes of the client are forwarded. */
function toPod(listener: OpenListener | undefined, relayed: RelayListener): RelayListener {
  return { ...relayed, arrived: () => listener?.clientSends() };
}

function sendHead(client: WireSocket, head: string, early: Buffer, down: RelaySide): void {
  const out = new Outgoing(client);
  out.text(head);
  if (early.length > 0) {
    down.moved();
    out.piece(ownCopy(early));
  }
  out.flush();
}

const isWebSocket = (head: ResponseHead): boolean => head.valueOf("upgrade")?.toLowerCase() === "websocket";
