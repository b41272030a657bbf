import { setTimeout as delay } from "node:timers/promises";
import { TestBed } from "../sleep/test-bed.ts";
import { type Visit, visit } from "../sleep/visitor.ts";
import { Findings } from "./findings.ts";

export interface SweepOptions {
  readonly say: (text: string) => void;
  /** Milliseconds between two offsets from the deadline. */
  readonly stepMs: number;
}

const timeoutMs = 1_000;
const beforeMs = 50;
/** The handshake begins at the deadline, and takes its time until the Pod is sealed. */
const afterMs = 150;
/** So many at a time, so that a request is not late for want of processors. */
const atATime = 10;

interface Case {
  readonly name: string;
  readonly offsetMs: number;
  readonly body?: string;
}

/** One request at every step around the idle deadline of its sandbox, in real time; returns what was wrong. */
export async function sweep({ say, stepMs }: SweepOptions): Promise<readonly string[]> {
  const findings = new Findings(say);
  await using bed = await TestBed.open({ activators: 2 });
  const cases: Case[] = [];
  for (let offsetMs = -beforeMs; offsetMs <= afterMs; offsetMs += stepMs) {
    cases.push({ name: `get-${offsetMs + beforeMs}`, offsetMs });
    cases.push({ name: `post-${offsetMs + beforeMs}`, offsetMs, body: "x".repeat(10_000) });
  }
  for (let begun = 0; begun < cases.length; begun += atATime) {
    await Promise.all(cases.slice(begun, begun + atATime).map((each) => tryOne(bed, each, findings)));
  }
  // One whose suspension was called off is left alone for a while, so this is not waited for in between.
  await Promise.all(
    cases.map(({ name }) =>
      bed.untilAsleep(name, 60_000).catch(() => findings.complain(`${name} does not sleep again`)),
    ),
  );
  for (const { name } of cases) {
    const { length } = bed.node.ledger.of(name);
    if (length !== 1) findings.complain(`${name} was carried out ${length} times`);
  }
  say(findings.summary());
  return findings.wrong;
}

async function tryOne(bed: TestBed, { name, offsetMs, body }: Case, findings: Findings): Promise<void> {
  const [first, second] = bed.activators;
  if (!first || !second) throw new Error("two activators were asked for");
  await bed.create(name, { autoSuspension: { inactivityTimeoutSeconds: timeoutMs / 1_000 } });
  // Held until its Pod is there, however long that takes.
  const before: Visit = { id: `${name}-before`, sandbox: name };
  const warm = await visit(first, before);
  const lastUsedMs = performance.now();
  const formerPod = bed.node.ledger.of(before.id)[0]?.podUid;
  if (warm.status !== 200) findings.complain(`${name}: the request before was answered ${warm.status} ${warm.body}`);
  await delay(lastUsedMs + timeoutMs + offsetMs - performance.now());
  const asked: Visit = { id: name, sandbox: name, ...(body !== undefined && { body }) };
  const outcome = await visit(second, asked);
  const executions = bed.node.ledger.of(name);
  const [execution] = executions;
  if (outcome.status !== 200) findings.complain(`${name}: ${outcome.status} ${outcome.body}`);
  else if (JSON.parse(outcome.body).bytes !== (body?.length ?? 0)) findings.complain(`${name}: its body was cut`);
  findings.count(execution?.podUid === formerPod ? "answered by the same Pod" : "answered by the next Pod");
}
