import { lostKeepers } from "../../api/crd/kept-by-installers.ts";
import { customResourceDefinitionType } from "../../api/kinds/core.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { MigrateConfig } from "./config.ts";
import { definitionsOf, type Found } from "./our-definitions.ts";
import type { Outcome } from "./outcome.ts";
import { writeOne } from "./write-one.ts";

/**
 * Puts the annotations back by which Helm, Argo CD and Flux keep the four definitions. A rollback to a chart with the definitions in its folder
 * `crds` deletes those that lack the annotation of Helm, and with them every sandbox. Argo CD and Flux prune those that lack theirs.
 * `kubectl replace` removes all three.
 *
 * @throws the errors of `KubeClient.get`.
 */
export async function keepDefinitions(
  client: KubeClient,
  { dryRun }: Pick<MigrateConfig, "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const written: string[] = [];
  const problems: string[] = [];
  for (const { name, annotations } of (await definitionsOf(client, signal)).flatMap(unkept)) {
    const line = `${listed(annotations)} of ${name}`;
    // Without a precondition: whatever definition has this name must be kept, and an installer reads these annotations alone.
    const body = { metadata: { annotations } };
    const result = dryRun
      ? "written"
      : await writeOne(
          () => client.patch(customResourceDefinitionType, { name }, { type: "merge", body }, {}, signal),
          signal,
        );
    if (result === "written") written.push(line);
    else if (result instanceof Error) problems.push(`${line}: ${result.message}`);
  }
  // What an admission webhook removes again was not written.
  const left = dryRun ? [] : (await definitionsOf(client, signal)).flatMap(unkept);
  const lost = left.map(({ name, annotations }) => `${name} has not kept the ${listed(annotations)}: ${wouldGo}`);
  return { written, notes: [], problems: problems.length > 0 ? problems : lost };
}

/** The definition with the annotations that it lacks; nothing if it lacks none. */
function unkept({ definition: { metadata } }: Found) {
  const annotations = lostKeepers(metadata.annotations);
  return Object.keys(annotations).length > 0 ? [{ name: metadata.name ?? "", annotations }] : [];
}

function listed(annotations: Readonly<Record<string, string>>): string {
  const keys = Object.keys(annotations);
  return `${keys.length > 1 ? "annotations" : "annotation"} ${keys.join(", ")}`;
}

const wouldGo = "an installer would delete it with all its objects";
