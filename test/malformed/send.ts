import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { SeededRandom } from "../support/seeded-random.ts";
import { always, corpus, generate } from "./messages.ts";

export interface Port {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** The client certificate for TLS. Absent: the port is not encrypted. */
  readonly tls?: { readonly cert?: string; readonly key?: string };
  /** Messages for its protocol alone. */
  readonly own?: readonly Buffer[];
  /** The address of the client. Absent: any. */
  readonly localAddress?: string;
  /** What half of the connections begin with. */
  readonly header?: Buffer;
}

/** The time to wait for an answer before the next message is sent. */
const answerMs = 15;
const handshakeMs = 2_000;
const atATime = 12;
/** The share of the corpus for each port, chosen by the seed, and the number of messages that are generated from it. */
const share = 10;
const generated = 30;

/** Sends malformed and incomplete messages to a port, with TLS if the port uses it. */
export async function storm(port: Port, random: SeededRandom): Promise<void> {
  const chosen = corpus.filter(() => random.below(share) === 0);
  const { own = [] } = port;
  const changed = Array.from({ length: own.length > 0 ? generated : 0 }, () => generate(random, own));
  const common = [...always, ...chosen, ...Array.from({ length: generated }, () => generate(random, corpus))];
  const messages = [...common, ...own, ...changed];
  const jobs = messages.map((message) => ({ message, secure: port.tls !== undefined && random.below(3) > 0 }));
  const worker = async () => {
    for (let job = jobs.pop(); job; job = jobs.pop()) await send(port, job.message, job.secure, random);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
}

async function send(port: Port, body: Buffer, secure: boolean, random: SeededRandom): Promise<void> {
  const { host, header, localAddress } = port;
  const message = header && random.below(2) === 0 ? Buffer.concat([header, body]) : body;
  const socket = secure
    ? connectTls({ ...port, ...port.tls, rejectUnauthorized: false, servername: "localhost" })
    : connect({ host, port: port.port, ...(localAddress && { localAddress }) });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => {}); // a closed connection counts as an answer
  const ready = new Promise<void>((resolve) => socket.once(secure ? "secureConnect" : "connect", () => resolve()));
  await Promise.race([ready, closed, pause(handshakeMs)]);
  const manner = random.below(4);
  if (manner === 0) {
    // In two parts. The second one may never be sent.
    const half = random.below(message.length + 1);
    socket.write(message.subarray(0, half));
    if (random.below(2) === 0) socket.write(message.subarray(half));
  } else socket.write(message);
  if (manner === 1) socket.end();
  const answered = new Promise<void>((resolve) => socket.once("data", () => resolve()));
  await Promise.race([answered, closed, pause(answerMs)]);
  if (manner === 2) reset(socket);
  else socket.destroy();
}

function reset(socket: Socket): void {
  if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
