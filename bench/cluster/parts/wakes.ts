import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { activatorUrl } from "../../../cluster/demo/demonstration.ts";
import { readExample } from "../../../local/examples.ts";
import { spreadTable } from "../../statistics.ts";
import { measureWithK6, type Scenario, scenarios, type WakeTarget } from "../../wake/with-k6.ts";
import { activatorToken } from "../activator-token.ts";
import { medianSegments, observeWakes, segmentsTable } from "../cold-wakes.ts";
import { stackedBar } from "../picture.ts";
import type { World } from "../world.ts";

const examples = join(import.meta.dirname, "..", "..", "..", "examples");
const picture = join(import.meta.dirname, "..", "cold-wake.svg");
const crowd = 50;
const counts = { one: 100, together: crowd } as const;
const observed = 50;

/** The cost of a wake without the program's own start, by k6; and the steps of a whole wake. */
export async function measureWakes(world: World): Promise<string> {
  const { kubectl, client } = world;
  await using namespace = await world.openNamespace();
  const inNamespace = `--namespace=${namespace.name}`;
  await kubectl.run(["apply", inNamespace, "--kustomize", join(examples, "hello")]);
  const hello = readExample(join(examples, "hello")).find(({ kind }) => kind === "Sandbox") as Sandbox;
  for (let at = 0; at < crowd; at += 1) {
    await client.create(sandboxType, { ...hello, metadata: { name: `crowd-${at}`, namespace: namespace.name } });
  }
  const target: WakeTarget = {
    api: world.connection.server,
    apiToken: await tokenFor(world, namespace.name),
    activator: await activatorUrl(kubectl),
    activatorToken: await activatorToken(world),
    namespace: namespace.name,
    domain: "sandbox.localhost",
  };
  const sections: string[] = ["### Wakes, on a real kubelet\n"];
  for (const each of scenarios) {
    const scenario: Scenario = { ...each, count: world.count(counts[each.name]) };
    const tax = await measureWithK6(await world.tool("k6"), scenario, target);
    sections.push(`${scenario.count} wakes, ${scenario.title}:\n`, spreadTable([["wake tax", tax]]));
  }
  const wakes = await observeWakes(world, target, "hello", world.count(observed));
  const segments = medianSegments(wakes);
  const svg = stackedBar(`A cold wake on one node: medians of ${wakes.length}`, segments);
  if (world.count(observed) === observed) writeFileSync(picture, svg);
  sections.push(`Where the time of ${wakes.length} cold wakes went, one at a time:\n`, segmentsTable(wakes));
  return sections.join("\n");
}

/** A token for k6, which has no certificate: it may read and change the sandboxes of this namespace. */
async function tokenFor({ kubectl }: World, namespace: string): Promise<string> {
  const metadata = { name: "bench", namespace };
  const apiGroup = "rbac.authorization.k8s.io";
  await kubectl.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: ["agents.x-k8s.io"], resources: ["sandboxes"], verbs: ["get", "patch"] }],
    },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup, kind: "Role", name: "bench" },
      subjects: [{ kind: "ServiceAccount", name: "bench", namespace }],
    },
  ]);
  return (await kubectl.run(["create", "token", "bench", `--namespace=${namespace}`, "--duration=2h"])).trim();
}
