import { setTimeout as delay } from "node:timers/promises";
import { TestBed } from "../sleep/test-bed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { compareUsage, expectFinalStates, expectNamesToLead, expectNothingHeld, usageOf } from "./audit.ts";
import { injectFaults, soakLeaseSeconds } from "./faults.ts";
import { Findings } from "./findings.ts";
import { Names } from "./names.ts";
import { makeSoakSandboxes } from "./sandboxes.ts";
import { makeTraffic } from "./traffic.ts";

export interface SoakOptions {
  readonly seed: number;
  readonly sandboxes: number;
  readonly clients: number;
  /** The time with faults. Then comes half as long without; its second half shows whether anything grows. */
  readonly forMs: number;
  readonly faultEveryMs: number;
  readonly say: (text: string) => void;
}

const reportEveryMs = 30_000;

/** Random traffic to sandboxes that are suspended all the time, with random faults. Returns all failures. */
export async function soak(options: SoakOptions): Promise<readonly string[]> {
  const { seed, say } = options;
  const random = seededRandom(seed);
  const findings = new Findings(say);
  const soakSandboxes = makeSoakSandboxes(options.sandboxes);
  await using bed = await TestBed.open({
    controllers: 2,
    activators: 3,
    leaseSeconds: soakLeaseSeconds,
    onControllerEnd: (lastWords) => findings.count(`ends: ${lastWords}`),
    controllerFlags: ["--activator-vanish-grace=2s"],
    activatorFlags: ["--wakes-per-second=200", "--wakes-burst=400"],
    podTimes: () => ({ scheduleMs: random.below(20), startMs: random.below(100), endMs: random.below(50) }),
  });
  await using names = new Names(bed.client);
  await Promise.all(soakSandboxes.map(({ name, spec }) => bed.create(name, spec)));
  await expectNamesToLead(bed, names, soakSandboxes, findings);
  say(`${soakSandboxes.length} sandboxes, seed ${seed}`);
  const reporter = setInterval(() => say(findings.summary()), reportEveryMs);
  const phase = async (name: string, forMs: number, everyMs: number | undefined) => {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), forMs);
    const common = { bed, names, random, findings, signal: over.signal };
    const faults = everyMs === undefined ? undefined : injectFaults({ ...common, everyMs });
    await Promise.all([makeTraffic({ ...common, phase: name, soakSandboxes, clients: options.clients }), faults]);
    clearTimeout(timer);
    await expectFinalStates(bed, soakSandboxes, findings);
    await expectNamesToLead(bed, names, soakSandboxes, findings);
    await expectNothingHeld(bed, findings);
  };
  try {
    await phase("faults", options.forMs, options.faultEveryMs);
    // Gives the programs that started last some traffic before their memory is measured.
    await phase("before", options.forMs / 4, undefined);
    const before = usageOf(bed);
    await phase("measured", options.forMs / 4, undefined);
    await delay(1_000);
    compareUsage(before, usageOf(bed), findings);
  } finally {
    clearInterval(reporter);
  }
  say(findings.summary());
  return findings.wrong;
}
