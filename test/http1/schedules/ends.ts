import type { Random } from "../random.ts";
import type { FakeWire } from "./fake-wire.ts";
import { ResponseCheck } from "./response-check.ts";
import type { Script } from "./script.ts";

/** One possible next step. */
export interface Step {
  readonly run: () => void;
  /** It happens only if nothing else can. Such a slow party fills all buffers on the way. */
  readonly isLast: boolean;
}

const amounts = [1, 200, 5_000, 20_000, 60_000, 300_000] as const;
const pieces = [1, 40, 3_000, 16_384, 50_000, 200_000] as const;

/** The other end of a client's connection: sends requests, reads the responses, and compares them. */
export class ClientEnd {
  readonly wire: FakeWire;
  readonly scripts: readonly Script[];
  readonly check: ResponseCheck;
  /** It has reset the connection, so it need not get anything more. */
  hasLeft = false;
  readonly #random: Random;
  readonly #isPipelining: boolean;
  readonly #isSlow: boolean;
  /** Starts a request only when all other parties are stuck, so it may get the connection of one of them. */
  readonly #isLate: boolean;
  readonly #endsEarly: boolean;
  readonly #leavesAt: number;
  #request = 0;
  #sentAt = 0;
  #hasEnded = false;

  constructor(wire: FakeWire, scripts: readonly Script[], random: Random) {
    this.wire = wire;
    this.scripts = scripts;
    this.#random = random;
    this.check = new ResponseCheck(scripts);
    this.#isPipelining = random.once(2);
    this.#isSlow = random.below(3) > 0;
    this.#isLate = random.once(2);
    this.#endsEarly = random.once(3);
    this.#leavesAt = random.once(15) ? random.below(scripts.length) : -1;
  }

  steps(): Step[] {
    const { wire } = this;
    this.#hear();
    const steps: Step[] = [];
    if (wire.isPending) steps.push({ run: () => wire.takeMore(this.#random.pick(amounts)), isLast: this.#isSlow });
    const script = this.scripts[this.#request];
    // An end of the other side is no reason not to send the rest of a request.
    if (wire.seenEnd === "reset" || this.hasLeft || (wire.seenEnd === "end" && this.#sentAt === 0)) return steps;
    if (script) {
      if (this.#isPipelining || this.#sentAt > 0 || this.check.complete >= this.#request) {
        steps.push({ run: () => this.#sendSome(script), isLast: this.#isLate && this.#sentAt === 0 });
      }
      if (this.#leavesAt === this.#request) steps.push({ run: () => this.#leave(), isLast: false });
    } else if (!this.#hasEnded && (this.#endsEarly || this.scripts.at(-1)?.kind === "upgrade")) {
      steps.push({ run: () => this.end(), isLast: false });
    }
    return steps;
  }

  /** It sends nothing more. */
  end(): void {
    this.#hasEnded = true;
    this.wire.sendEnd("end");
  }

  /** Reads the remaining data. */
  finish(): void {
    this.#hear();
    this.check.ended(this.wire.seenEnd === "end");
  }

  #hear(): void {
    for (const bytes of this.wire.received.splice(0)) this.check.feed(bytes);
  }

  #sendSome({ request }: Script): void {
    const end = Math.min(request.length, this.#sentAt + this.#random.pick(pieces));
    this.wire.send(request.subarray(this.#sentAt, end));
    this.#sentAt = end;
    if (end < request.length) return;
    this.#sentAt = 0;
    this.#request += 1;
  }

  #leave(): void {
    this.hasLeft = true;
    this.wire.sendEnd("reset");
  }
}

/** The sandbox's end of a connection: reads requests, compares their bodies, and answers by their scripts. */
export class SandboxEnd {
  readonly wire: FakeWire;
  readonly faults: string[] = [];
  /** The requests that were read completely. */
  readonly heard = new Set<number>();
  readonly #scripts: ReadonlyMap<number, Script>;
  readonly #random: Random;
  #head = "";
  #script: Script | undefined;
  #bodyAt = 0;
  #sentAt = 0;
  #isOver = false;
  readonly #isSlow: boolean;
  /** Reads no more, like a server that has already answered. */
  #stopsReading = false;

  constructor(wire: FakeWire, scripts: ReadonlyMap<number, Script>, random: Random) {
    this.wire = wire;
    this.#scripts = scripts;
    this.#random = random;
    this.#isSlow = random.once(3);
  }

  steps(): Step[] {
    const { wire } = this;
    this.#hear();
    const steps: Step[] = [];
    if (wire.isPending && !this.#stopsReading) {
      steps.push({ run: () => wire.takeMore(this.#random.pick(amounts)), isLast: this.#isSlow });
    }
    const script = this.#script;
    if (!script || this.#isOver || wire.seenEnd === "reset") return steps;
    const mayAnswer = script.isEarly || this.#bodyAt === script.requestBody.length;
    if (mayAnswer && !this.#waits(script) && !this.#mayRest(script))
      steps.push({ run: () => this.#answer(script), isLast: false });
    return steps;
  }

  /** Half of the tunnels end after the client's end, like a job that reads its input to the end. */
  #waits({ kind, id, afterwards, response }: Script): boolean {
    if (kind !== "upgrade" || id % 2 !== 0 || afterwards !== "ends" || this.#sentAt < response.length) return false;
    return !this.#heardAll;
  }

  /** Whether the data of a tunnel's client was read completely. */
  get #heardAll(): boolean {
    return this.#bodyAt === this.#script?.requestBody.length && this.wire.seenEnd !== "open";
  }

  #answer(script: Script): void {
    const { response, afterwards } = script;
    const limit = script.cutAt ?? response.length;
    const end = Math.min(limit, this.#sentAt + this.#random.pick(pieces));
    if (end > this.#sentAt) {
      this.wire.send(response.subarray(this.#sentAt, end));
      this.#sentAt = end;
      if (script.isEarly && script.kind === "plain" && !script.readsRest) this.#stopsReading ||= this.#random.once(3);
      this.#restIfOver(script);
      return;
    }
    this.#isOver = true;
    this.wire.sendEnd(script.cutAt === undefined && afterwards === "ends" ? "end" : "reset");
  }

  /** Whether its response is sent, and the connection stays. */
  #mayRest({ afterwards, cutAt, response }: Script): boolean {
    return afterwards === "stays" && cutAt === undefined && this.#sentAt === response.length;
  }

  /** Both directions may end first. */
  #restIfOver(script: Script): void {
    if (!this.#mayRest(script) || this.#bodyAt < script.requestBody.length) return;
    this.#stopsReading = false;
    this.#script = undefined;
    this.#sentAt = 0;
    this.#bodyAt = 0;
  }

  #hear(): void {
    for (const bytes of this.wire.received.splice(0)) this.#feed(bytes);
  }

  #feed(bytes: Buffer): void {
    let at = 0;
    if (!this.#script) {
      const before = this.#head.length;
      this.#head += bytes.toString("latin1");
      const end = this.#head.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.#script = this.#scripts.get(Number(/^\w+ \/(\d+) /.exec(this.#head)?.[1]));
      this.#head = "";
      at = end + 4 - before;
    }
    if (!this.#script) return void this.faults.push("a request that no client sent");
    const got = bytes.subarray(at);
    const wanted = this.#script.requestBody.subarray(this.#bodyAt, this.#bodyAt + got.length);
    if (!got.equals(wanted)) this.faults.push(`wrong bytes of request ${this.#script.id} from byte ${this.#bodyAt} on`);
    this.#bodyAt += got.length;
    if (this.#bodyAt === this.#script.requestBody.length) this.heard.add(this.#script.id);
    this.#restIfOver(this.#script);
  }
}
