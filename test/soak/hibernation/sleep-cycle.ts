import type { Findings } from "../findings.ts";
import { ExpectedState } from "./expected-state.ts";
import { judge } from "./judge.ts";
import type { Kills } from "./kills.ts";
import type { Sleeper } from "./sleeper.ts";

export interface CycleParts {
  readonly findings: Findings;
  /** Absent: nothing is killed. Then nothing may be lost. */
  readonly kills: Kills | undefined;
}

/** After an activator has vanished, no sandbox is suspended for inactivity for a minute. */
const patienceMs = 5_000;

/** One sandbox through its sleeps, with all that must be true of it. */
export class SleepCycle {
  readonly sleeper: Sleeper;
  readonly #parts: CycleParts;
  readonly #lost = new Set<string>();
  #state: ExpectedState | undefined;
  #ticks = 0;

  constructor(sleeper: Sleeper, parts: CycleParts) {
    this.sleeper = sleeper;
    this.#parts = parts;
  }

  get losses(): number {
    return this.#lost.size;
  }

  async begin(): Promise<void> {
    await this.sleeper.create();
    const { answered } = await this.sleeper.ask(0);
    const faults = this.#takeUp(answered);
    if (faults.length > 0) throw new Error(`a new sandbox is wrong: ${faults.join("; ")}`);
  }

  /** Suspends it, wakes it, and returns what was wrong. */
  async run(isByHand: boolean): Promise<readonly string[]> {
    const { findings, kills } = this.#parts;
    const before = this.#state;
    if (!before) throw new Error("the sandbox has not begun");
    const killed = kills?.of("agent-sandbox-controller");
    if (isByHand || (kills && !(await this.sleeper.isSuspendedWithin(patienceMs)))) await this.sleeper.suspend();
    const { state, reason = "", message = "" } = await this.sleeper.asleep();
    const { answered, started, isFirst } = await this.sleeper.ask(before.step + 1, before.life);
    before.advance();
    const known = { before, ticks: this.#ticks, lost: this.#lost };
    const verdict = judge(known, { answered, started, hasWaited: isFirst });
    const wake = await this.sleeper.wake();
    const faults = [...verdict.faults];
    if (verdict.is === "restored") {
      this.#ticks = answered.ticks;
      findings.count("cycles restored");
      if (state !== "Hibernated") faults.push(`it goes on, and while it slept the status said ${state} ${reason}`);
      if (wake.mode !== "Restored") faults.push(`it goes on, and the status says ${wake.mode} ${wake.reason ?? ""}`);
      return faults;
    }
    findings.count(`cycles anew: ${wake.reason ?? "no reason"}`);
    if (!kills) faults.push(`its memory is lost: ${wake.reason ?? "no reason"}; ${message}`);
    if (wake.mode !== "Anew") faults.push(`its memory is lost, and the status says ${wake.mode}`);
    if (!wake.reason) faults.push("its memory is lost, and the status has no reason");
    if (state === "Stopped" && !reason) faults.push("its memory was not kept, and the status had no reason");
    const text = state === "Stopped" ? message : (wake.reason ?? "");
    // An event is written after the status. A controller that ends in between does not write it.
    const mayLack = killed !== kills?.of("agent-sandbox-controller");
    if (!(await this.sleeper.hasEventOfLoss(text))) {
      if (mayLack) findings.count("losses without an event, with a controller that was killed");
      else faults.push(`its memory is lost, and no event says ${text}`);
    }
    this.#lost.add(before.life);
    return [...faults, ...this.#takeUp(answered)];
  }

  /** A new life is expected to go on from here. Returns what is wrong with it already. */
  #takeUp(answered: Parameters<ExpectedState["differences"]>[0]): readonly string[] {
    this.#state = new ExpectedState(answered.life);
    this.#ticks = answered.ticks;
    return this.#state.differences(answered);
  }
}
