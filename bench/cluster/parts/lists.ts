import { Agent, request } from "undici";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { inParallel } from "../../in-parallel.ts";
import { recordStates } from "../../state-times.ts";
import { spreadOf, spreadTable } from "../../statistics.ts";
import { is, sandboxNamed } from "../objects.ts";
import type { World } from "../world.ts";

const objects = 5_000;
const rounds = 10;
const writers = 32;

/** How long one list of many objects takes in the stored version, and in the version that the webhook converts to. */
export async function measureLists(world: World): Promise<string> {
  const { client, connection } = world;
  await using namespace = await world.openNamespace();
  const count = world.count(objects);
  await using sandboxes = await recordStates(client, sandboxType, namespace.name, { asleep: is("Suspended") });
  const names = Array.from({ length: count }, (_, at) => `listed-${at}`);
  await inParallel(names, writers, (name) =>
    client.create(sandboxType, sandboxNamed(namespace.name, name, { operatingMode: "Suspended" })),
  );
  await sandboxes.untilReached("asleep", count);
  const { ca, cert, key } = connection.tls;
  const agent = new Agent({ connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } });
  const listIn = async (version: string): Promise<number> => {
    const url = `${connection.server}/apis/agents.x-k8s.io/${version}/namespaces/${namespace.name}/sandboxes`;
    const startMs = systemClock.ticksMs();
    const { statusCode, body } = await request(url, { dispatcher: agent, headers: { accept: "application/json" } });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(text.slice(0, 500));
    return systemClock.ticksMs() - startMs;
  };
  const times: Record<"v1beta1" | "v1alpha1", number[]> = { v1beta1: [], v1alpha1: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const version of ["v1beta1", "v1alpha1"] as const) times[version].push(await listIn(version));
  }
  await agent.close();
  return [
    `### One list of ${count.toLocaleString("en")} sandboxes\n`,
    spreadTable([
      ["v1beta1, as they are stored", spreadOf(times.v1beta1)],
      ["v1alpha1, through the webhook", spreadOf(times.v1alpha1)],
    ]),
  ].join("\n");
}
