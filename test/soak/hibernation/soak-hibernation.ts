import { type Pod, podType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { isConditionTrue } from "../../../api/rules/conditions.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { findActivator } from "../../kubernetes/e2e/support/installed-activator.ts";
import { openSandboxes } from "../../kubernetes/e2e/support/sandboxes.ts";
import { eventually } from "../../kubernetes/support/eventually.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { Findings } from "../findings.ts";
import { Kills } from "./kills.ts";
import {
  compareMemory,
  describeMemory,
  describeState,
  expectNothingLeft,
  memoryOf,
  nodeStateOf,
  type ProgramMemory,
} from "./node-state.ts";
import { SleepCycle } from "./sleep-cycle.ts";
import { Sleeper, type SleeperParts } from "./sleeper.ts";
import type { SoakCluster } from "./soak-cluster.ts";

export interface HibernationSoakOptions {
  readonly cluster: SoakCluster;
  /** Suspensions and wakes, of all sandboxes together. */
  readonly cycles: number;
  /** It determines what is killed and when. */
  readonly seed: number;
  readonly kills: boolean;
  readonly say: (text: string) => void;
}

const sandboxes = 4;
/** More, because most of the time they wait for programs that are started again. */
const sandboxesWithKills = 8;
/** After so many failures the rest would say nothing new. */
const wrongMax = 10;
/** The controller writes 25 warnings about one sandbox, and then one in five minutes. */
const lossesMax = 10;
const reportEveryMs = 30_000;
const readyLimitMs = 300_000;

/** Sandboxes in gVisor that sleep and wake again and again, and must forget nothing without a word. Returns all failures. */
export async function soakHibernation(options: HibernationSoakOptions): Promise<readonly string[]> {
  const { cluster, seed, say } = options;
  const findings = new Findings((text) => say(`seed ${seed}, ${text}`));
  await untilReady(cluster);
  const before = await nodeStateOf(cluster);
  const memory = { early: [] as readonly ProgramMemory[] };
  say(`before: ${describeState(before)}; ${describeMemory(await memoryOf(cluster))}`);
  const reporter = setInterval(() => say(findings.summary()), reportEveryMs);
  try {
    const containerdKills = await sleepAndWake(options, findings, async () => {
      memory.early = await memoryOf(cluster);
    });
    await untilReady(cluster);
    await expectNothingLeft(cluster, { before, findings, containerdKills });
    const late = await memoryOf(cluster);
    compareMemory(memory.early, late, findings);
    say(`after: ${describeState(await nodeStateOf(cluster))}; ${describeMemory(late)}`);
  } finally {
    clearInterval(reporter);
  }
  say(findings.summary());
  return findings.wrong;
}

/** All cycles; returns how often containerd was killed. `onWarm` is called after a fifth of them: by then heaps have their usual size. */
async function sleepAndWake(
  { cluster, cycles, kills: isKilling, seed }: HibernationSoakOptions,
  findings: Findings,
  onWarm: () => Promise<void>,
): Promise<number> {
  await using namespace = await openSandboxes(cluster);
  const activator = await findActivator(cluster);
  const kills = isKilling ? new Kills(cluster, seededRandom(seed), findings) : undefined;
  const parts: SleeperParts = { namespace, activator, findings, mayFail: isKilling };
  const over = new AbortController();
  const killing = kills?.run(over.signal);
  let begun = 0;
  const warmAt = Math.ceil(cycles / 5);
  const lane = async (number: number) => {
    let cycle: SleepCycle | undefined;
    for (let made = 0; begun < cycles && findings.wrong.length < wrongMax; ) {
      const at = ++begun;
      const where = () => `cycle ${at}, sandbox ${cycle?.sleeper.name}`;
      try {
        if (!cycle) {
          cycle = new SleepCycle(new Sleeper(`soak-${number}-${made++}`, parts), { findings, kills });
          await cycle.begin();
        }
        if (at === warmAt) await onWarm();
        // The sandboxes begin with different ways, and then each takes them in turn.
        for (const fault of await cycle.run((at + number) % 2 === 0)) findings.complain(`${where()}: ${fault}`);
        if (cycle.losses >= lossesMax) throw new Error("it has lost its memory too often");
      } catch (error) {
        if ((cycle?.losses ?? 0) < lossesMax) findings.complain(`${where()}: ${String(error)}`);
        await cycle?.sleeper.delete().catch((cause: unknown) => findings.complain(`${where()}: ${String(cause)}`));
        cycle = undefined;
      }
    }
  };
  await Promise.all(Array.from({ length: isKilling ? sandboxesWithKills : sandboxes }, (_, number) => lane(number)));
  over.abort();
  await killing;
  return kills?.of("containerd") ?? 0;
}

/** Waits until the programs are ready that were killed last, and no Pod of an earlier release is left. */
async function untilReady({ client }: SoakCluster): Promise<void> {
  const isReady = async () => {
    const { items } = await client.list(podType, { namespace: release.namespace });
    const isUp = ({ metadata, status }: Stored<Pod>) =>
      !metadata.deletionTimestamp && isConditionTrue(status?.conditions, "Ready");
    return items.length > 0 && items.every(isUp);
  };
  await eventually(isReady, readyLimitMs);
}
