import { setTimeout as delay } from "node:timers/promises";
import { endCounts } from "../sleep/end-counts.ts";
import type { TestBed } from "../sleep/test-bed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { expectNoLeak } from "./activator/resource-counts.ts";
import { openBed } from "./bed.ts";
import { Client } from "./client.ts";
import type { Findings } from "./findings.ts";
import { Generator } from "./generate.ts";
import type { Kind } from "./plan.ts";
import { paused } from "./sandboxes.ts";
import { Subject } from "./subject.ts";

export interface TortureOptions {
  readonly seed: number;
  /** How long clients start new sessions. */
  readonly forMs: number;
  readonly clients: number;
  readonly kinds: ReadonlySet<Kind>;
  readonly findings: Findings;
}

/** The time limit of the last sessions, longer than the detection of a stall takes. */
const lastSessionMs = 75_000;

/** Clients and sandboxes send the traffic of the seed through an activator process, and compare every byte. */
export async function torture({ seed, clients, kinds, findings, forMs }: TortureOptions): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const heard: { by: Subject | undefined } = { by: undefined };
  const { bed, world, closeSandboxes } = await openBed(stack, (line) => heard.by?.hear(line));
  const subject = new Subject(bed, findings);
  heard.by = subject;
  await subject.begin();
  findings.begin();
  const over = AbortSignal.timeout(forMs);
  const person = kinds.has("sleep") ? suspendAndResume(bed, seed, over) : undefined;
  const everyClient = Array.from(
    { length: clients },
    (_, index) => new Client({ index, world, findings, subject, generator: new Generator(seed, index, kinds) }),
  );
  const ended = Promise.all([...everyClient.map((client) => client.run(over)), person]);
  const late = new AbortController();
  await Promise.race([ended, delay(forMs + lastSessionMs, undefined, { signal: late.signal })]);
  late.abort();
  for (const client of everyClient) client.expectOver();
  await subject.end();
  const [activator] = bed.activators;
  if (!findings.isClean && activator) findings.note(await endCounts(activator).catch(String));
  closeSandboxes();
  for (const came of world.ledger.unexpected) {
    findings.complain("in all", {
      what: "a sandbox got data that no client sent",
      sent: "nothing",
      expected: "nothing",
      came,
    });
  }
  if (subject.before) await expectNoLeak(bed, subject.before, findings);
}

/** Suspends sandboxes that are in use, and resumes some of them. The next connection wakes the others. */
async function suspendAndResume(bed: TestBed, seed: number, signal: AbortSignal): Promise<void> {
  const random = seededRandom(seed ^ 0x5eed);
  while (!signal.aborted) {
    await delay(500 + random.below(2_500), undefined, { signal }).catch(() => {});
    const name = random.oneOf(paused);
    await bed.change(name, { operatingMode: "Suspended" });
    if (random.below(2) === 0) continue;
    await delay(random.below(1_500));
    await bed.change(name, { operatingMode: "Running" });
  }
}
