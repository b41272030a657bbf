import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { rawPort, trailer } from "../sleep/raw-workload.ts";
import { TestBed } from "../sleep/test-bed.ts";
import { type Visit, visit } from "../sleep/visitor.ts";
import { workloadPort } from "../sleep/workload.ts";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { Findings } from "./findings.ts";
import { Names } from "./names.ts";

export interface SweepOptions {
  readonly say: (text: string) => void;
  /** Milliseconds between two offsets from the deadline. */
  readonly stepMs: number;
}

const timeoutMs = 1_000;
const beforeMs = 50;
/** The handshake starts at the deadline, and the Pod is sealed some time later. */
const afterMs = 150;
/** Concurrent cases. With more, requests would be late on a busy machine. */
const atATime = 10;

interface Case {
  readonly name: string;
  readonly offsetMs: number;
  readonly body?: string;
  readonly isHttp2?: boolean;
  /** It is sent on an open raw connection, and takes longer than the idle time, without data in between. */
  readonly isQuestion?: boolean;
}

const ports = [{ containerPort: workloadPort }, { containerPort: rawPort }];
const rawPodTemplate = { spec: { containers: [{ name: "main", image: "workload", ports }], nodeName: "bed" } };
const workMs = 3 * timeoutMs;
/** The connection of a question that comes too late ends within this time, before the idle time. */
const endedWithinMs = timeoutMs;
const random = seededRandom(1);

/** The parameters of one case. */
interface Around {
  readonly bed: TestBed;
  readonly names: Names;
  readonly findings: Findings;
}

/** One request, or one question, at every step around the idle deadline of its sandbox, in real time. Returns all failures. */
export async function sweep({ say, stepMs }: SweepOptions): Promise<readonly string[]> {
  const findings = new Findings(say);
  await using bed = await TestBed.open({ activators: 2 });
  await using names = new Names(bed.client);
  const cases: Case[] = [];
  for (let offsetMs = -beforeMs; offsetMs <= afterMs; offsetMs += stepMs) {
    cases.push({ name: `get-${offsetMs + beforeMs}`, offsetMs });
    cases.push({ name: `get2-${offsetMs + beforeMs}`, offsetMs, isHttp2: true });
    cases.push({ name: `post2-${offsetMs + beforeMs}`, offsetMs, isHttp2: true, body: "x".repeat(10_000) });
    cases.push({ name: `post-${offsetMs + beforeMs}`, offsetMs, body: "x".repeat(10_000) });
    cases.push({ name: `ask-${offsetMs + beforeMs}`, offsetMs: 4 * offsetMs, isQuestion: true });
  }
  for (let begun = 0; begun < cases.length; begun += atATime) {
    await Promise.all(cases.slice(begun, begun + atATime).map((each) => tryOne(each, { bed, names, findings })));
  }
  // After a cancelled suspension, a sandbox is not suspended for a while, so all of them are waited for together.
  await Promise.all(
    cases.map(({ name }) =>
      bed.untilAsleep(name, 60_000).catch(() => findings.complain(`${name} does not sleep again`)),
    ),
  );
  for (const { name, isQuestion } of cases) {
    const { length } = bed.node.ledger.of(name);
    if (length !== 1 && !(isQuestion && length === 0)) findings.complain(`${name} was executed ${length} times`);
  }
  say(findings.summary());
  return findings.wrong;
}

async function tryOne(each: Case, around: Around): Promise<void> {
  const { name, offsetMs, isQuestion = false } = each;
  const { bed, findings } = around;
  const [first, second] = bed.activators;
  if (!first || !second) throw new Error("two activators were asked for");
  await bed.create(name, {
    autoSuspension: { inactivityTimeoutSeconds: timeoutMs / 1_000 },
    ...(isQuestion && { service: true, podTemplate: rawPodTemplate }),
  });
  if (isQuestion) return tryQuestion(each, around);
  // The request is held until the Pod is ready.
  const before: Visit = { id: `${name}-before`, sandbox: name };
  const warm = await visit(first, before);
  const lastUsedMs = performance.now();
  const formerPod = bed.node.ledger.of(before.id)[0]?.podUid;
  if (warm.status !== 200) findings.complain(`${name}: the request before was answered ${warm.status} ${warm.body}`);
  await delay(lastUsedMs + timeoutMs + offsetMs - performance.now());
  const asked: Visit = {
    id: name,
    sandbox: name,
    ...(each.body !== undefined && { body: each.body }),
    ...(each.isHttp2 && { isHttp2: true }),
  };
  const outcome = await visit(second, asked);
  const executions = bed.node.ledger.of(name);
  const [execution] = executions;
  if (outcome.status !== 200) findings.complain(`${name}: ${outcome.status} ${outcome.body}`);
  else if (JSON.parse(outcome.body).bytes !== (each.body?.length ?? 0)) findings.complain(`${name}: its body was cut`);
  findings.count(execution?.podUid === formerPod ? "answered by the same Pod" : "answered by the next Pod");
}

/** A question is answered completely, or its connection ends before the sandbox could have answered. */
async function tryQuestion({ name, offsetMs }: Case, { bed, names, findings }: Around): Promise<void> {
  await eventually(() => names.route(name, rawPort, random) !== undefined, 60_000);
  const route = names.route(name, rawPort, random);
  if (!route) return findings.complain(`${name}: its Service leads nowhere`);
  const socket = connect({ ...route, allowHalfOpen: true }).setEncoding("latin1");
  let heard = "";
  socket
    .on("error", () => {})
    .on("data", (text: string) => {
      heard += text;
    });
  const over = new Promise<void>((resolve) => socket.once("end", resolve).once("close", () => resolve()));
  // The connection is proxied once its Pod accepts, and that is the last activity.
  await bed.untilReady(name, 60_000);
  await delay(timeoutMs + offsetMs);
  const wasOver = socket.readableEnded || socket.destroyed;
  const askedMs = performance.now();
  if (!wasOver) socket.write(`${name} ${workMs}\n`);
  await over;
  const tookMs = performance.now() - askedMs;
  socket.destroy();
  const [execution] = bed.node.ledger.of(name);
  if (wasOver) findings.count("questions that found the connection ended");
  else if (execution && heard === trailer(execution.podUid, 0)) findings.count("questions answered");
  else if (heard === "" && tookMs < endedWithinMs)
    findings.count("questions that came too late, with the end of the connection");
  else findings.complain(`${name}: cut after ${tookMs.toFixed(0)} ms, having received ${JSON.stringify(heard)}`);
}
