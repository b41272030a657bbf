import { setTimeout as delay } from "node:timers/promises";
import type { TestBed } from "../sleep/test-bed.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Findings } from "./findings.ts";

export interface FaultsOptions {
  readonly bed: TestBed;
  readonly random: SeededRandom;
  readonly findings: Findings;
  readonly signal: AbortSignal;
  /** Milliseconds between two faults, at most. */
  readonly everyMs: number;
}

interface Fault {
  readonly what: string;
  /** Resolves once the fault has ended. */
  readonly happen: (bed: TestBed, random: SeededRandom) => Promise<void>;
}

/** Long enough for a leader that starts with two hundred sandboxes on a busy machine. */
export const soakLeaseSeconds = 10;
const pastLeaseMs = (soakLeaseSeconds + 1) * 1_000;
const outageMs = 8_000;

const faults: readonly Fault[] = [
  {
    what: "activators killed and started again",
    async happen({ activators }, random) {
      const victim = random.oneOf(activators);
      await victim.kill();
      await delay(random.below(2_000));
      await victim.start();
    },
  },
  {
    what: "activators replaced",
    async happen(bed, random) {
      const victim = random.oneOf(bed.activators);
      bed.activators.splice(bed.activators.indexOf(victim), 1);
      await victim.remove();
      await bed.startActivator();
    },
  },
  {
    what: "activators paused for a while",
    async happen({ activators }, random) {
      const { program } = random.oneOf(activators);
      program.pause();
      await delay(random.below(8_000));
      program.goOn();
    },
  },
  {
    what: "controllers killed",
    async happen({ controllers }, random) {
      await random.oneOf(controllers).program.kill();
    },
  },
  {
    what: "controllers paused past their lease",
    async happen(bed, random) {
      const { program } = await bed.leader();
      program.pause();
      await delay(pastLeaseMs + random.below(2_000));
      program.goOn();
    },
  },
  {
    what: "programs cut off from the API server",
    async happen({ activators, controllers }, random) {
      const { gate } = random.oneOf([...activators, ...controllers]);
      if (random.below(2) === 0) gate.hang();
      else await gate.refuse();
      await delay(random.below(outageMs));
      await gate.open();
    },
  },
  {
    what: "API server outages for all programs",
    async happen({ activators, controllers }, random) {
      const gates = [...activators, ...controllers].map(({ gate }) => gate);
      await Promise.all(gates.map((gate) => gate.refuse()));
      await delay(random.below(outageMs));
      await Promise.all(gates.map((gate) => gate.open()));
    },
  },
];

/** Injects random faults, one after the other, until the signal. Each fault is ended before the next. */
export async function injectFaults({ bed, random, findings, signal, everyMs }: FaultsOptions): Promise<void> {
  while (!signal.aborted) {
    await delay(random.below(everyMs), undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const fault = random.oneOf(faults);
    findings.count(fault.what);
    await fault.happen(bed, random).catch((error: unknown) => findings.complain(`${fault.what}: ${String(error)}`));
  }
}
