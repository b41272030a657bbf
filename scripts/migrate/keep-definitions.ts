import { helmPolicy, keptByInstallers } from "../../api/crd/kept-by-installers.ts";
import { customResourceDefinitionType } from "../../api/kinds/core.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { MigrateConfig } from "./config.ts";
import { definitionsOf, type Found } from "./our-definitions.ts";
import type { Outcome } from "./outcome.ts";
import { writeOne } from "./write-one.ts";

/**
 * Puts the annotations back by which Helm, Argo CD and Flux keep the four definitions. A rollback to a chart with the definitions in its folder
 * `crds` deletes those that lack the annotation of Helm, and with them every sandbox. `kubectl replace` removes it.
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
  for (const { definition } of (await definitionsOf(client, signal)).filter(isUnkept)) {
    const { name = "" } = definition.metadata;
    const line = `annotation ${helmPolicy.key} of ${name}`;
    const body = { metadata: { annotations: keptByInstallers } };
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
  const left = dryRun ? [] : (await definitionsOf(client, signal)).filter(isUnkept);
  const unkept = left.map(({ definition }) => `${definition.metadata.name} ${wouldGo}`);
  return { written, notes: [], problems: problems.length > 0 ? problems : unkept };
}

const isUnkept = ({ definition: { metadata } }: Found): boolean =>
  metadata.annotations?.[helmPolicy.key] !== helmPolicy.keep;

const wouldGo = `has not kept the annotation ${helmPolicy.key}: ${helmPolicy.keep}: Helm would delete it with all its objects`;
