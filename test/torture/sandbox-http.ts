import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { PodProgram } from "../sleep/in-process-node.ts";
import { workloadPort } from "../sleep/workload.ts";
import { eventually } from "../support/eventually.ts";
import { webSocketProof } from "../support/sockets/web-socket-proof.ts";
import { downStream } from "./bytes.ts";
import type { Account, Ledger } from "./ledger.ts";
import { type Pace, pour, readAtPace, reset } from "./link.ts";
import { type Head, MessageReader } from "./message-reader.ts";
import type { ExchangePlan, TalkPlan } from "./plan.ts";
import { speechOf } from "./talk/speech.ts";
import { Talker } from "./talk/talker.ts";

/** A server on a port of a Pod that answers each connection by its plan. */
export abstract class PlannedServer implements PodProgram {
  readonly #port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(port: number) {
    this.#port = port;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#sockets.add(socket.on("error", () => {}));
      socket.once("close", () => this.#sockets.delete(socket));
      this.serve(socket);
    });
  }

  protected abstract serve(socket: Socket): void;

  async listen(host: string): Promise<void> {
    this.#server.listen({ port: this.#port, host, backlog: 4_096 });
    await once(this.#server, "listening");
  }

  /** Resolves once the program may end without losing what the activator has handed over. */
  protected async finished(): Promise<void> {}

  /** Closes all connections. Call it when no client uses them. */
  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await this.finished();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** The HTTP server of a sandbox, which answers each request by its plan. */
export class PlannedHttpServer extends PlannedServer {
  readonly #ledger: Ledger;
  readonly #sides = new Set<PodSide>();

  constructor(ledger: Ledger) {
    super(workloadPort);
    this.#ledger = ledger;
  }

  protected override serve(socket: Socket): void {
    const side = new PodSide(socket, this.#ledger);
    this.#sides.add(side);
    socket.once("close", () => this.#sides.delete(side));
  }

  /**
   * A program that answers first and then reads gets what the kernel holds for it only after SIGTERM: the activator cannot see
   * how far it has read.
   */
  protected override async finished(): Promise<void> {
    const isOver = () => [...this.#sides].every(({ readsOn }) => !readsOn);
    await eventually(isOver, graceMs).catch(() => {});
  }
}

/** How long a program may read on after SIGTERM, in milliseconds. */
const graceMs = 30_000;

const idOf = ({ start }: Head) => Number(/^\S+ \/t\/(\d+) /.exec(start)?.[1] ?? Number.NaN);

/** One connection to a sandbox's HTTP server. */
class PodSide {
  readonly #socket: Socket;
  readonly #ledger: Ledger;
  readonly #reader: MessageReader;
  #plan: ExchangePlan | undefined;
  #account: Account | undefined;
  #talker: Talker | undefined;
  #answering = false;
  #setPace: ((pace: Pace) => void) | undefined;

  constructor(socket: Socket, ledger: Ledger) {
    this.#socket = socket;
    this.#ledger = ledger;
    this.#reader = new MessageReader("request", {
      head: (head) => this.#begin(head),
      body: (bytes) => this.#take(bytes),
      end: () => this.#end(),
      raw: (bytes) => this.#talker?.feed(bytes),
    });
    socket.on("end", () => this.#ended());
    socket.on("error", ({ message }) => this.#note(message));
    socket.on("close", () => this.#note("closed"));
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
  }

  /** It has answered, and the rest of the request is still to be read. */
  get readsOn(): boolean {
    const isOpen = !this.#socket.destroyed && !this.#socket.readableEnded;
    return isOpen && this.#answering && this.#plan?.answer.readsOn === true && this.#account?.upEnded === false;
  }

  #read(bytes: Buffer): void {
    this.#reader.push(bytes);
    const { broken } = this.#reader;
    if (broken === undefined) return;
    if (this.#account) this.#account.broken = broken;
    else this.#ledger.unexpected.push(broken);
    this.#socket.destroy();
  }

  #begin(head: Head): "body" | "raw" {
    const id = idOf(head);
    const plan = this.#ledger.planOf(id);
    if (!plan) {
      // The session of the client has already been judged.
      this.#socket.destroy();
      return "body";
    }
    const account = this.#ledger.accountOf(id);
    account.times += 1;
    if (plan.kind === "talk") {
      this.#switch(plan, account, head);
      return "raw";
    }
    this.#plan = plan;
    this.#account = account;
    this.#answering = false;
    if (plan.upload) this.#readSlowly(plan);
    if (plan.answer.when === "first") this.#answer(plan);
    return "body";
  }

  /** From the first upload of a connection on, each has its own pace. */
  #readSlowly({ reading }: ExchangePlan): void {
    if (this.#setPace) this.#setPace(reading);
    else this.#setPace = readAtPace(this.#socket, reading);
  }

  #take(bytes: Buffer): void {
    this.#account?.up.take(bytes);
    if (this.#plan?.answer.when === "during") this.#answer(this.#plan);
  }

  #end(): void {
    if (!this.#plan || !this.#account) return;
    this.#account.upEnded = true;
    this.#answer(this.#plan);
  }

  #note(how: string): void {
    if (this.#account) this.#account.lost ??= how;
  }

  #ended(): void {
    this.#note("ended by the activator");
    if (this.#talker) this.#talker.ended();
    else this.#socket.end();
  }

  #answer(plan: ExchangePlan): void {
    const account = this.#account;
    if (this.#answering || !account) return;
    this.#answering = true;
    if (!account.upEnded && !plan.answer.readsOn) this.#socket.pause();
    void answer(this.#socket, plan, account).then((isCut) => {
      // Another exchange may have started on this connection, which this program ends.
      if (!isCut || !this.#account) return;
      this.#account.reset = true;
      this.#account.endedByAnother ||= this.#account !== account; // its own reset may come later
    });
  }

  #switch(plan: TalkPlan, account: Account, { fields }: Head): void {
    const { pod, early, frames } = plan;
    const proof = `Sec-WebSocket-Accept: ${webSocketProof(fields.get("sec-websocket-key") ?? "")}\r\n`;
    const form = frames ? `Upgrade: websocket\r\n${proof}` : "Upgrade: torture\r\n";
    const text = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n${form}\r\n`;
    const speech = speechOf(plan, "pod");
    account.heard = speech;
    const heard = { hears: account.up, toHear: plan.client.bytes };
    const cut = () => reset(this.#socket);
    this.#talker = new Talker(this.#socket, { plan: pod, speech, sent: early, ...heard, cut });
    this.#socket.write(Buffer.concat([Buffer.from(text), speech.encode(0, early)]));
    followTalk(this.#talker, account, this.#socket);
    readAtPace(this.#socket, pod.reading);
    this.#talker.start();
  }
}

/** Records the sandbox's side of a conversation in the account. */
export function followTalk(talker: Talker, account: Account, socket: Duplex): void {
  const note = (how: string) => {
    account.lost ??= how;
  };
  socket.once("error", ({ message }) => note(message)).once("close", () => note("closed"));
  talker.onEnd = () => {
    account.upEnded = true;
  };
  talker.onReset = () => {
    account.reset = true;
  };
  talker.onSent = () => {
    account.downWritten = true;
  };
}

/** How long a program that reads no more keeps its connection, in milliseconds. */
const unreadMs = 2_000;
const crlf = Buffer.from("\r\n");
const chunked = (piece: Buffer) => Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, crlf]);

/** Resolves with whether it has closed the connection without announcing it. */
async function answer(socket: Socket, { id, method, answer: plan }: ExchangePlan, account: Account): Promise<boolean> {
  const { bytes, framing, sending, cutAt, ending, delayMs, endAfterMs, interims } = plan;
  if (delayMs > 0) await delay(delayMs);
  for (let count = 0; count < interims; count += 1) socket.write("HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n");
  const hasBody = method !== "HEAD";
  const to = hasBody ? Math.min(bytes, cutAt ?? bytes) : 0;
  const isWhole = !hasBody || cutAt === undefined;
  const lines = [
    "HTTP/1.1 200 OK",
    `X-Torture: ${id}`,
    ...(framing === "length" ? [`Content-Length: ${bytes}`] : []),
    ...(framing === "chunked" ? ["Transfer-Encoding: chunked"] : []),
    ...(ending === "announce" || framing === "close" ? ["Connection: close"] : []),
  ];
  socket.cork();
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  process.nextTick(() => socket.uncork());
  const wrap = framing === "chunked" ? { wrap: chunked } : {};
  const left = await pour(socket, { stream: downStream(id), from: 0, to, sending, ...wrap });
  if (!left) return false;
  if (hasBody && isWhole && framing === "chunked") socket.write("0\r\n\r\n");
  account.downWritten = isWhole;
  if (isWhole && ending === "keep" && framing !== "close") {
    socket.resume();
    return false;
  }
  if (endAfterMs > 0) await delay(endAfterMs);
  if (isWhole && ending !== "reset") {
    socket.end();
    // It reads no more: a close tells the activator so. Without one its client would wait for `--proxy-timeout`.
    if (!account.upEnded && !plan.readsOn) setTimeout(() => socket.destroy(), unreadMs);
    return ending === "silent";
  }
  account.reset = true;
  reset(socket);
  return true;
}
