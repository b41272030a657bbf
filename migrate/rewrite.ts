import { storageMigratedAtAnnotation } from "../api/keys.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import type { ResourceType } from "../api/resource-type.ts";
import { sandboxType } from "../api/sandbox.ts";
import { sandboxClaimType } from "../api/sandbox-claim.ts";
import { sandboxTemplateType } from "../api/sandbox-template.ts";
import { sandboxWarmPoolType } from "../api/sandbox-warm-pool.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../lib/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { listServed } from "./list-served.ts";
import type { Outcome } from "./outcome.ts";
import { writeOne } from "./write-one.ts";

/** What a claim refers to comes before the claim. */
const kindsInOrder: readonly ResourceType[] = [sandboxWarmPoolType, sandboxTemplateType, sandboxType, sandboxClaimType];

const atOnce = 16;

interface Rewriting {
  readonly client: KubeClient;
  /** The annotation's value for this run. */
  readonly at: string;
  readonly signal: AbortSignal;
}

/**
 * Writes an annotation to every object, so that the API server stores it anew, in the version that it stores now. An
 * object is written whether or not an earlier run has done so: it may have come back from a backup since then. What cannot
 * be written is a problem, and does not keep the others from being written.
 *
 * @throws what `KubeClient.list` throws.
 */
export async function rewriteEverything(
  client: KubeClient,
  clock: Clock,
  { namespace, dryRun }: Pick<MigrateConfig, "namespace" | "dryRun">,
  signal: AbortSignal,
): Promise<Outcome> {
  const rewriting = { client, at: clock.now().toISOString(), signal };
  const written: string[] = [];
  const notes: string[] = [];
  const problems: string[] = [];
  for (const type of kindsInOrder) {
    const objects = await listServed(client, type, namespace, signal);
    // The extensions may not be installed; sandboxes always are, once the upgrade has happened.
    const unserved = `${type.plural} are not served in ${type.version}`;
    if (!objects && type === sandboxType) problems.push(`${unserved}: upgrade the definitions first`);
    else if (!objects) notes.push(`${unserved}: skipped`);
    for (const some of inGroupsOf(atOnce, objects ?? [])) {
      const results = await Promise.all(some.map((object) => (dryRun ? "written" : rewrite(type, object, rewriting))));
      for (const [at, object] of some.entries()) {
        const result = results[at];
        const name = `${type.kind} ${keyOf(object)}`;
        if (result === "written") written.push(name);
        else if (result instanceof Error) problems.push(`${name}: ${result.message}`);
      }
    }
  }
  return { written, notes, problems };
}

function rewrite(
  type: ResourceType,
  { metadata: { namespace, name = "" } }: KubeObject,
  { client, at, signal }: Rewriting,
): Promise<"written" | "gone" | Error> {
  const body = { metadata: { annotations: { [storageMigratedAtAnnotation]: at } } };
  return writeOne(() => client.patch(type, { namespace, name }, { type: "merge", body }, {}, signal), signal);
}

function* inGroupsOf<T>(size: number, items: readonly T[]): Iterable<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
