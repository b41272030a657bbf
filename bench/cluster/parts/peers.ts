import { cpuSeconds, residentBytes } from "../../../test/programs/process-cost.ts";
import type { Calls } from "../api-calls.ts";
import { startSoleController, stopInstalledPrograms } from "../sole-controller.ts";
import type { World } from "../world.ts";
import { type ClaimFigures, steadyPerSecond, takeClaims } from "./claims.ts";
import { type SingleFigures, takeSingles } from "./sandboxes.ts";

interface Round {
  readonly claims: ClaimFigures;
  readonly singles: SingleFigures;
  /** CPU time of the controller from its start to the end of the round, and its memory then. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/**
 * The same work for our controller and for the ecosystem's, alternating. Each runs alone as a single process of this machine,
 * without a webhook and with default flags.
 */
export async function measurePeers(world: World): Promise<string> {
  const peers = { rouse: "controller/main.ts", "agent-sandbox": await world.tool("agent-sandbox") };
  await using _nodes = await world.startNodes();
  await using _others = await stopInstalledPrograms(world);
  const taken = new Map<string, Round[]>();
  const rounds = world.rounds(3);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, program] of Object.entries(peers)) {
      world.say(`round ${round}: ${name}`);
      taken.set(name, [...(taken.get(name) ?? []), await takeRound(world, program)]);
    }
  }
  return `### Both controllers, on kwok nodes: medians of ${rounds} rounds (least to most)\n\n${tableOf(taken)}`;
}

function tableOf(taken: ReadonlyMap<string, readonly Round[]>): string {
  const size = [...taken.values()][0]?.[0]?.claims.size;
  const row = (what: string, digits: number, of: (round: Round) => number) => {
    const cells = [...taken.values()].map((rounds) => {
      const values = rounds.map(of).sort((a, b) => a - b);
      const median = values[Math.floor(values.length / 2)] ?? Number.NaN;
      const [least = median, most = median] = [values[0], values.at(-1)];
      return `${median.toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
    });
    return `| ${what} | ${cells.join(" | ")} |`;
  };
  return [
    `| | ${[...taken.keys()].join(" | ")} |`,
    `| --- |${" ---: |".repeat(taken.size)}`,
    row("single sandbox: create to Pod, p50 ms", 1, ({ singles }) => singles.toPod.p50),
    row("create to Pod Ready, p50 ms", 1, ({ singles }) => singles.toPodReady.p50),
    row("create to Ready, p50 ms", 1, ({ singles }) => singles.toReady.p50),
    row("create to Ready, p99 ms", 1, ({ singles }) => singles.toReady.p99),
    row("API calls for each", 1, ({ singles }) => total(singles.calls) / singles.count),
    row(`pool of ${size} full, s`, 1, ({ claims }) => claims.filledMs / 1_000),
    row(`${size} claims at once, all Ready, s`, 1, ({ claims }) => claims.atOnceMs / 1_000),
    row("of these, p50 ms", 0, ({ claims }) => claims.atOnce.p50),
    row("pool full again after that, s", 1, ({ claims }) => claims.refilledMs / 1_000),
    row(`${steadyPerSecond} claims per second, p50 ms`, 0, ({ claims }) => claims.steady.p50),
    row("of these, p99 ms", 0, ({ claims }) => claims.steady.p99),
    row("API calls for each, with the refill", 1, ({ claims }) => total(claims.calls) / claims.steadyCount),
    row("CPU time of the controller for each, ms", 1, ({ claims }) => claims.cpuMs),
    row("CPU time in total, s", 1, (round) => round.cpuSeconds),
    row("memory at the end, MiB", 0, (round) => round.residentBytes / 2 ** 20),
    "",
  ].join("\n");
}

const total = (calls: Calls) => [...calls.values()].reduce((sum, each) => sum + each, 0);

async function takeRound(world: World, program: string): Promise<Round> {
  await using namespace = await world.openNamespace();
  await using controller = await startSoleController(world, namespace.name, program);
  const { pid, user } = controller;
  const singles = await takeSingles(world, user);
  const claims = await takeClaims(world, namespace.name, controller);
  return { claims, singles, cpuSeconds: cpuSeconds(pid), residentBytes: residentBytes(pid) };
}
