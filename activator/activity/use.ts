import type { Stored } from "../../api/kinds/meta.ts";
import type { OpenConnections } from "../../api/kinds/sandbox.ts";
import type { RequestHead } from "../request.ts";
import type { SlimSandbox } from "../sandbox/slim-sandbox.ts";
import { isIgnored } from "./ignored-requests.ts";
import type { OpenUse, SandboxRecord } from "./sandbox-record.ts";

export type AskedBy = Pick<RequestHead, "target" | "sandboxTarget" | "headers">;

/** The part of `Activity` that a use calls. */
export interface ActivityOfUses {
  recordOf(sandbox: Stored<SlimSandbox>): SandboxRecord;
  changed(record: SandboxRecord): void;
  nowMs(): number;
}

/**
 * One request's or connection's use of a sandbox.
 *
 *   new ──begin──▶ waiting ──sentTo──▶ sent ──dispatched──▶ working ──opened──▶ open     (working again under Count)
 *    └────────────────┴──────────────────┴──────end────────────┴──────────────────┴──▶ over
 *
 * `sent` is in flight for the handshake, and no activity yet: no byte has reached the Pod. The end of what was `working`
 * dates the activity, however it ends.
 */
export class Use implements OpenUse {
  readonly #head: AskedBy | undefined;
  readonly #activity: ActivityOfUses;
  /** Undefined until the sandbox is known. */
  #record: SandboxRecord | undefined;
  #isIgnored = false;
  #phase: "new" | "waiting" | "sent" | "working" | "open" | "over" = "new";
  #podUid = "";
  /** Undefined until it is an open connection. */
  #meaning: OpenConnections | undefined;
  /** Whether the client sent the last data. Kept under every meaning, because the meaning may change. */
  #isUnanswered = false;
  #isClosing = false;
  /** When the client's last data arrived; kept under `Data` only. */
  #askedMs = Number.NEGATIVE_INFINITY;
  /** The record's `observedGeneration` when the client sent the first data after the last answer. */
  #askedUnder = 0;

  constructor(head: AskedBy | undefined, activity: ActivityOfUses) {
    this.#head = head;
    this.#activity = activity;
  }

  get counts(): boolean {
    return this.#record !== undefined && !this.#isIgnored;
  }

  get podUid(): string {
    return this.#podUid;
  }

  get unansweredUntilMs(): number {
    if (!this.#isUnanswered || !this.#record) return Number.NEGATIVE_INFINITY;
    return this.#askedMs + this.#record.unansweredLimitMs;
  }

  /** Whether data of the client is unanswered and within the limit, so that it is work in flight. */
  get hasUnanswered(): boolean {
    return this.#isUnanswered && this.#countsData && this.#activity.nowMs() < this.unansweredUntilMs;
  }

  /**
   * Whether this use keeps a sealed Pod. Data that the client sent after the suspension was observed does not: it caused a wake
   * instead, and the connection is closed (decision 0010).
   */
  get keepsSealedPod(): boolean {
    if (this.#phase === "working") return true;
    const cameLate = this.#askedUnder !== 0 && this.#askedUnder === this.#record?.observedGeneration;
    return this.hasUnanswered && !cameLate;
  }

  /** Its sandbox is known. Further calls have no effect. */
  begin(sandbox: Stored<SlimSandbox>): void {
    if (this.#phase !== "new") return;
    this.#phase = "waiting";
    this.#isIgnored = isIgnored(this.#head, sandbox.spec.autoSuspension);
    this.#record = this.#activity.recordOf(sandbox);
    if (this.#isIgnored) return;
    this.#record.waiting += 1;
    this.#changed();
  }

  /** Call it in the same synchronous step as the resolution that allows to send. */
  sentTo(podUid: string): void {
    if (this.#phase !== "waiting") return;
    this.#phase = "sent";
    this.#podUid = podUid;
    if (this.counts && this.#record) this.#record.waiting -= 1;
    this.#addSent(1);
    this.#changed();
  }

  /** The first byte was written to the connection to the Pod; for a raw connection: the tunnel was joined. */
  dispatched(): void {
    if (this.#phase !== "sent") return;
    this.#phase = "working";
    this.#addDispatched(1);
    this.#changed();
  }

  /** It became an open connection. The sandbox's `openConnections` gives its meaning, which may change. */
  opened(meaning: OpenConnections): void {
    this.dispatched();
    if (meaning === this.#meaning || (this.#phase !== "working" && this.#phase !== "open")) return;
    const nowMs = this.#activity.nowMs();
    this.#settle(nowMs);
    const [counted, counts] = [this.#phase === "working", meaning === "Count"];
    if (counted !== counts) {
      this.#addSent(counts ? 1 : -1);
      this.#addDispatched(counts ? 1 : -1);
    }
    this.#meaning = meaning;
    this.#phase = counts ? "working" : "open";
    this.#askedMs = nowMs; // under another meaning the time of unanswered data was not kept
    if (meaning === "Data" && this.counts) this.#record?.open.add(this);
    else this.#record?.open.delete(this);
    this.#changed();
  }

  /** Data moved that is no question and no answer. Returns whether it counts. */
  moved(): boolean {
    if (!this.#countsData) return false;
    this.#usedNow();
    return true;
  }

  /** The client sent data. Returns whether it counts. */
  asked(): boolean {
    if (!this.#isUnanswered && !this.#isClosing) {
      this.#isUnanswered = true;
      this.#askedUnder = this.#record?.observedGeneration ?? 0;
    }
    if (!this.#countsData) return false;
    this.#askedMs = this.#usedNow();
    return true;
  }

  /** The sandbox sent data, which answers everything the client sent. Returns whether it counts. */
  answered(): boolean {
    this.#isUnanswered = false;
    return this.moved();
  }

  /** The activator is closing the connection: what the client still sends is no work. */
  closing(): void {
    this.#settle(this.#activity.nowMs());
    this.#isClosing = true;
    this.#isUnanswered = false;
    this.#changed();
  }

  /**
   * Nothing goes to the sandbox any more, and nothing is expected of it. The request may still go on between client and activator:
   * a suspension cannot harm that. The end of an open connection ends its use.
   */
  released(): void {
    if (this.#meaning === undefined) this.end();
  }

  end(): void {
    const phase = this.#phase;
    if (phase === "over") return;
    if (phase === "working" || phase === "open") this.#settle(this.#activity.nowMs());
    this.#phase = "over";
    if (phase === "waiting" && this.counts && this.#record) this.#record.waiting -= 1;
    if (phase === "sent" || phase === "working") this.#addSent(-1);
    if (phase === "working") this.#addDispatched(-1);
    if (phase === "open") this.#record?.open.delete(this);
    this.#changed();
  }

  get #countsData(): boolean {
    return this.#phase === "open" && this.#meaning === "Data" && this.counts;
  }

  #usedNow(): number {
    const nowMs = this.#activity.nowMs();
    this.#record?.usedAt(nowMs);
    this.#changed();
    return nowMs;
  }

  /** Records the activity of this use until now. */
  #settle(nowMs: number): void {
    if (!this.counts) return;
    if (this.#phase === "working") this.#record?.usedAt(nowMs);
    else if (this.#countsData) this.#record?.usedAt(Math.min(this.unansweredUntilMs, nowMs));
  }

  #addSent(difference: 1 | -1): void {
    const counts = this.#isIgnored ? this.#record?.ignored : this.#record?.sent;
    counts?.add(this.#podUid, difference);
  }

  #addDispatched(difference: 1 | -1): void {
    if (this.#record && !this.#isIgnored) this.#record.dispatched += difference;
  }

  #changed(): void {
    if (this.#record && !this.#isIgnored) this.#activity.changed(this.#record);
  }
}
