import { setTimeout as delay } from "node:timers/promises";
import { eventType, podType } from "../../api/kinds/core.ts";
import { isSuspensionComplete } from "../../api/rules/suspension.ts";
import { longestSilenceMs } from "../../controller/suspension/activators/silence.ts";
import type { ActivatorReplica } from "../sleep/activator-replica.ts";
import { home, TestBed } from "../sleep/test-bed.ts";
import { type Outcome, visit } from "../sleep/visitor.ts";
import { eventually } from "../support/eventually.ts";
import { Findings } from "./findings.ts";

/** From the time when its Pod is reported as not Ready; its last answer is older than that. */
const earliestMs = longestSilenceMs - 20_000;
/** Overdue sandboxes are suspended one after the other, so the last one comes later than the limit. */
const latestMs = longestSilenceMs + 120_000;
const inactivityTimeoutSeconds = 2;
/** How long its Pod is still reported as Ready. */
const readyMs = 60_000;

/**
 * An activator that hangs with its sockets open, in real time. No sandbox is suspended while it may still proxy, until five
 * minutes after its Pod was reported as not Ready. Returns all faults.
 */
export async function runStuckActivator(say: (text: string) => void): Promise<readonly string[]> {
  const findings = new Findings(say);
  // A new leader would start these waits again.
  await using bed = await TestBed.open({ activators: 2, leaseSeconds: 60 });
  const scenario = new StuckActivator(bed, findings);
  await scenario.prepare();
  await scenario.hang();
  await scenario.stayAwake(readyMs);
  await scenario.reportUnready();
  await scenario.stayAwake(earliestMs);
  await scenario.fallAsleep();
  await scenario.comeBack();
  say(findings.summary());
  return findings.wrong;
}

class StuckActivator {
  readonly #bed: TestBed;
  readonly #findings: Findings;
  readonly #stuck: ActivatorReplica;
  readonly #other: ActivatorReplica;
  #stuckSinceMs = 0;
  #proxied: Promise<Outcome> | undefined;

  constructor(bed: TestBed, findings: Findings) {
    const [first, second] = bed.activators;
    if (!first || !second) throw new Error("two activators were asked for");
    this.#bed = bed;
    this.#findings = findings;
    this.#stuck = first;
    this.#other = second;
  }

  /** Three sandboxes: the first has a request through the activator that will hang, the second was used through the other one. */
  async prepare(): Promise<void> {
    for (const name of names) await this.#bed.create(name, { autoSuspension: { inactivityTimeoutSeconds } });
    await this.#bed.untilAsleep("later");
    await this.#expectAnswer(this.#stuck, "proxied");
    await this.#expectAnswer(this.#other, "used");
    // The sandbox answers while the activator hangs.
    this.#proxied = visit(this.#stuck, { id: "proxied", sandbox: "proxied", afterMs: 5_000 });
    await eventually(() => this.#bed.node.ledger.of("proxied").length === 1);
  }

  async hang(): Promise<void> {
    await this.#expectMetric(0);
    this.#stuck.program.pause();
    this.#stuckSinceMs = performance.now();
    // Fifteen seconds, and the time limit of a call.
    await eventually(async () => (await this.#metric()) === 1, 60_000).catch(() => {});
    await this.#expectMetric(1);
  }

  async reportUnready(): Promise<void> {
    await this.#stuck.reportReady(false);
    this.#stuckSinceMs = performance.now();
  }

  /** No sandbox is suspended during `forMs`, and the other activator serves requests. */
  async stayAwake(forMs: number): Promise<void> {
    while (this.#sinceMs() < forMs) {
      for (const name of ["proxied", "used"]) {
        const slept = isSuspensionComplete(await this.#bed.sandbox(name)) || !(await this.#hasPod(name));
        if (slept) {
          this.#findings.complain(`${name} sleeps ${this.#seconds()} after an activator hung`);
          return;
        }
      }
      await delay(5_000);
    }
    await this.#expectAnswer(this.#other, "used");
    const { items } = await this.#bed.client.list(eventType, {});
    const isReported = items.some(
      ({ reason, regarding }) => reason === "ActivatorUnreachable" && regarding?.name === this.#stuck.name,
    );
    if (!isReported) this.#findings.complain("no event reports the activator that hangs");
  }

  async fallAsleep(): Promise<void> {
    for (const name of ["proxied", "used"]) {
      await this.#bed
        .untilAsleep(name, latestMs - this.#sinceMs())
        .then(() => this.#findings.count(`${name} slept after ${this.#seconds()}`))
        .catch(() => this.#findings.complain(`${name} does not sleep ${this.#seconds()} after an activator hung`));
    }
    // From now on it delays no suspension.
    await this.#expectAnswer(this.#other, "later");
    await this.#bed.untilAsleep("later", 30_000).catch(() => this.#findings.complain("another sandbox does not sleep"));
    await this.#expectMetric(1);
  }

  /** It continues: the request that it proxied has ended, and it sees the next Pod. */
  async comeBack(): Promise<void> {
    this.#stuck.program.goOn();
    // Its watches were silent for too long, so it is not ready until it has listed again.
    await this.#stuck.untilReady();
    await this.#stuck.reportReady(true);
    const outcome = await this.#proxied;
    this.#findings.count(`the request through the activator that hung: ${outcome?.status}`);
    for (const name of names) await this.#expectAnswer(this.#stuck, name);
    await eventually(async () => (await this.#metric()) === 0, 60_000).catch(() => {});
    await this.#expectMetric(0);
    for (const name of names) {
      await this.#bed.untilAsleep(name, 60_000).catch(() => this.#findings.complain(`${name} does not sleep again`));
    }
  }

  #sinceMs = (): number => performance.now() - this.#stuckSinceMs;

  #seconds = (): string => `${Math.round(this.#sinceMs() / 1_000)} s`;

  async #hasPod(name: string): Promise<boolean> {
    const { items } = await this.#bed.client.list(podType, { namespace: home });
    return items.some(({ metadata }) => metadata.name === name);
  }

  async #expectAnswer(by: ActivatorReplica, sandbox: string): Promise<void> {
    const { status, body } = await visit(by, { id: `${sandbox}-${performance.now()}`, sandbox });
    if (status !== 200) this.#findings.complain(`${by.name} answers for ${sandbox}: ${status} ${body}`);
  }

  async #metric(): Promise<number> {
    const page = await (await this.#bed.leader()).metrics();
    return Number(/^rouse_activators_unreachable (\d+)$/m.exec(page)?.[1]);
  }

  async #expectMetric(wanted: number): Promise<void> {
    const found = await this.#metric();
    if (found !== wanted) this.#findings.complain(`rouse_activators_unreachable is ${found}, not ${wanted}`);
  }
}

const names = ["proxied", "used", "later"] as const;
