import { setTimeout as delay } from "node:timers/promises";
import type { TestBed } from "../sleep/test-bed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { openBed } from "./bed.ts";
import { expectAsBefore } from "./census.ts";
import { Client } from "./client.ts";
import type { Findings } from "./findings.ts";
import { Generator } from "./generate.ts";
import type { Kind } from "./plan.ts";
import { paused } from "./population.ts";
import { Subject } from "./subject.ts";

export interface TortureOptions {
  readonly seed: number;
  /** How long clients begin something new. */
  readonly forMs: number;
  readonly clients: number;
  readonly kinds: ReadonlySet<Kind>;
  readonly findings: Findings;
}

/** The longest that a session may go on once no other begins, and longer than it takes to see that it is stuck. */
const lastSessionMs = 60_000;

/** Real clients and sandboxes around a real activator, which do to it all that the seed says; every byte is compared. */
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
  closeSandboxes();
  for (const came of world.ledger.strays) {
    findings.complain("in all", { what: "a sandbox got what nobody sent", sent: "nothing", expected: "nothing", came });
  }
  if (subject.before) await expectAsBefore(bed, subject.before, findings);
}

/** A person who suspends sandboxes that are in use, and sometimes leaves it to the next connection to wake them. */
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
