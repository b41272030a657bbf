import { setTimeout as delay } from "node:timers/promises";
import { eventType, podType } from "../../api/kinds/core.ts";
import { isSuspensionComplete } from "../../api/rules/suspension.ts";
import { longestSilenceMs } from "../../controller/suspension/activators/silence.ts";
import type { ActivatorReplica } from "../sleep/activator-replica.ts";
import { home, TestBed } from "../sleep/test-bed.ts";
import { type Outcome, visit } from "../sleep/visitor.ts";
import { eventually } from "../support/eventually.ts";
import { Findings } from "./findings.ts";

/** Counted from when its Pod is called unready, for it is heard of no more by then. */
const earliestMs = longestSilenceMs - 20_000;
/** From the limit until all who are overdue sleep: they go one after the other. */
const latestMs = longestSilenceMs + 120_000;
const inactivityTimeoutSeconds = 2;
/** For so long its Pod is still called Ready. */
const readyMs = 60_000;

/**
 * An activator that hangs with its sockets open, in real time: while something may go on behind it nothing falls asleep,
 * and five minutes after its Pod was called unready it counts no more. Returns what was wrong.
 */
export async function hung(say: (text: string) => void): Promise<readonly string[]> {
  const findings = new Findings(say);
  // A new leader would wait anew.
  await using bed = await TestBed.open({ activators: 2, leaseSeconds: 60 });
  const stage = new Stage(bed, findings);
  await stage.prepare();
  await stage.hang();
  await stage.stayAwake(readyMs);
  await stage.tellUnready();
  await stage.stayAwake(earliestMs);
  await stage.fallAsleep();
  await stage.comeBack();
  say(findings.summary());
  return findings.wrong;
}

class Stage {
  readonly #bed: TestBed;
  readonly #findings: Findings;
  readonly #hung: ActivatorReplica;
  readonly #other: ActivatorReplica;
  #hungMs = 0;
  #carried: Promise<Outcome> | undefined;

  constructor(bed: TestBed, findings: Findings) {
    const [first, second] = bed.activators;
    if (!first || !second) throw new Error("two activators were asked for");
    this.#bed = bed;
    this.#findings = findings;
    this.#hung = first;
    this.#other = second;
  }

  /** Three sandboxes: the one to be hung carries a request to the first; the second was used by the other alone. */
  async prepare(): Promise<void> {
    for (const name of names) await this.#bed.create(name, { autoSuspension: { inactivityTimeoutSeconds } });
    await this.#bed.untilAsleep("later");
    await this.#expectAnswer(this.#hung, "carried");
    await this.#expectAnswer(this.#other, "used");
    // It is answered while nobody can pass the answer on.
    this.#carried = visit(this.#hung, { id: "carried", sandbox: "carried", afterMs: 5_000 });
    await eventually(() => this.#bed.node.ledger.of("carried").length === 1);
  }

  async hang(): Promise<void> {
    await this.#expectMetric(0);
    this.#hung.program.pause();
    this.#hungMs = performance.now();
    // Fifteen seconds, and the time of a call that is not answered.
    await eventually(async () => (await this.#metric()) === 1, 60_000).catch(() => {});
    await this.#expectMetric(1);
  }

  async tellUnready(): Promise<void> {
    await this.#hung.tellReady(false);
    this.#hungMs = performance.now();
  }

  /** For so long nothing falls asleep, and whoever comes by the other one is served. */
  async stayAwake(forMs: number): Promise<void> {
    while (this.#sinceMs() < forMs) {
      for (const name of ["carried", "used"]) {
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
    const isTold = items.some(
      ({ reason, regarding }) => reason === "ActivatorUnreachable" && regarding?.name === this.#hung.name,
    );
    if (!isTold) this.#findings.complain("no event tells of the activator that hangs");
  }

  async fallAsleep(): Promise<void> {
    for (const name of ["carried", "used"]) {
      await this.#bed
        .untilAsleep(name, latestMs - this.#sinceMs())
        .then(() => this.#findings.count(`${name} slept after ${this.#seconds()}`))
        .catch(() => this.#findings.complain(`${name} does not sleep ${this.#seconds()} after an activator hung`));
    }
    // From now on it delays nobody.
    await this.#expectAnswer(this.#other, "later");
    await this.#bed.untilAsleep("later", 30_000).catch(() => this.#findings.complain("another one does not sleep"));
    await this.#expectMetric(1);
  }

  /** It goes on where it was: what it carried has ended, and it knows of the next Pod. */
  async comeBack(): Promise<void> {
    this.#hung.program.goOn();
    // Its watches were silent for longer than it trusts them; clients are sent to it when it has looked again.
    await this.#hung.untilReady();
    await this.#hung.tellReady(true);
    const outcome = await this.#carried;
    this.#findings.count(`what it carried: ${outcome?.status}`);
    for (const name of names) await this.#expectAnswer(this.#hung, name);
    await eventually(async () => (await this.#metric()) === 0, 60_000).catch(() => {});
    await this.#expectMetric(0);
    for (const name of names) {
      await this.#bed.untilAsleep(name, 60_000).catch(() => this.#findings.complain(`${name} does not sleep again`));
    }
  }

  #sinceMs = (): number => performance.now() - this.#hungMs;

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

const names = ["carried", "used", "later"] as const;
