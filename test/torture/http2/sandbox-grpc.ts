import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { forbiddenFrames } from "../../malformed/forbidden-frames.ts";
import type { Account, Ledger } from "../ledger.ts";
import { readAtPace, reset } from "../link.ts";
import type { CallPlan, TalkPlan } from "../plan.ts";
import { followTalk, PlannedServer } from "../sandbox-http.ts";
import { grpcPort } from "../sandboxes.ts";
import { speechOf } from "../talk/speech.ts";
import { Talker } from "../talk/talker.ts";
import { FrameConnection } from "./frame-connection.ts";
import type { FrameStream } from "./frame-stream.ts";
import { type Fields, fieldOf } from "./hpack.ts";

const forbidden = Object.values(forbiddenFrames);
const link = { windowBytes: 65_535, sharesWindow: false, frameBytes: 16_384, paddingBytes: 0 };

/** The server of a sandbox for calls of gRPC, which serves each by its plan. */
export class PlannedGrpcServer extends PlannedServer {
  readonly #ledger: Ledger;
  #connections = 0;

  constructor(ledger: Ledger) {
    super(grpcPort);
    this.#ledger = ledger;
  }

  protected override serve(socket: Socket): void {
    this.#connections += 1;
    // Each second connection gives small windows.
    const windowBytes = this.#connections % 2 === 0 ? 20_000 : link.windowBytes;
    new CallServer(socket, { ...link, windowBytes, sharesWindow: this.#connections % 3 === 0 }, this.#ledger);
  }
}

/** One connection of an activator. */
class CallServer {
  readonly #socket: Socket;
  readonly #ledger: Ledger;
  readonly #frames: FrameConnection;
  readonly #accounts = new Set<Account>();
  #isLeaving = false;

  constructor(socket: Socket, options: typeof link, ledger: Ledger) {
    this.#socket = socket;
    this.#ledger = ledger;
    this.#frames = new FrameConnection(socket, "server", options);
    this.#frames.onStream = (stream, fields) => this.#begin(stream, fields);
    socket.once("end", () => socket.end());
    socket.once("close", () => {
      if (this.#frames.broken !== undefined) ledger.unexpected.push(this.#frames.broken);
    });
  }

  #begin(stream: FrameStream, fields: Fields): void {
    if (this.#isLeaving) return; // the other side knows that it was not served
    const id = Number(/^\/t\/(\d+)$/.exec(fieldOf(fields, ":path") ?? "")?.[1] ?? Number.NaN);
    const plan = this.#ledger.planOf(id);
    // Otherwise the session of the client has already been judged.
    if (plan?.kind !== "talk" || !plan.call) return stream.cut();
    const account = this.#ledger.accountOf(id);
    account.times += 1;
    const timeoutMs = Number.parseInt(fieldOf(fields, "grpc-timeout") ?? "", 10);
    if (plan.call.deadlineMs !== undefined && !(timeoutMs >= 0)) account.broken = "a call without its time limit";
    this.#accounts.add(account);
    stream.once("close", () => this.#accounts.delete(account));
    void this.#serve(stream, { plan, call: plan.call, account });
  }

  async #serve(stream: FrameStream, { plan, call, account }: Served): Promise<void> {
    const { pod, client, id } = plan;
    const speech = speechOf(plan, "pod");
    account.heard = speech;
    const cut = () => stream.cut(call.resetCode);
    const options = { plan: pod, speech, sent: 0, hears: account.up, toHear: client.bytes, cut };
    const talker = new Talker(stream, options);
    followTalk(talker, account, stream);
    const isHeard = new Promise<void>((resolve) => void stream.once("end", resolve).once("close", resolve));
    stream.on("end", () => talker.ended());
    stream.on("data", (bytes: Buffer) => talker.feed(bytes));
    readAtPace(stream, pod.reading);
    if (call.connection !== "keep") this.#leave(call.connection);
    if (call.answers === "after") await isHeard;
    if (call.delayMs > 0) await delay(call.delayMs);
    if (stream.destroyed) return;
    const trailers = trailersOf(id, call);
    if (call.isHeadAlone) return stream.sendHead([...headOf(id), ...trailers], true);
    stream.trailers = trailers;
    if (pod.resetAt !== 0) stream.sendHead(headOf(id));
    talker.start();
  }

  /** Ends the connection in the middle of all calls, or after those that have begun, or leaves the end to the activator. */
  #leave(how: CallPlan["connection"]): void {
    if (how === "goaway") {
      this.#isLeaving = true;
      this.#frames.announceEnd();
      return;
    }
    for (const account of this.#accounts) account.reset = true;
    if (how === "reset") return reset(this.#socket);
    this.#isLeaving = true;
    this.#frames.offend(forbidden[this.#accounts.size % forbidden.length] ?? Buffer.alloc(0));
  }
}

interface Served {
  readonly plan: TalkPlan;
  readonly call: CallPlan;
  readonly account: Account;
}

const headOf = (id: number): Fields => [
  [":status", "200"],
  ["content-type", "application/grpc"],
  ["x-torture", String(id)],
];

const trailersOf = (id: number, { status }: CallPlan): Fields => [
  ["grpc-status", String(status)],
  ["grpc-message", `call ${id}`],
  ["x-torture-end", String(id)],
];
