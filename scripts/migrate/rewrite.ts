import { type KubeObject, keyOf } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import { storageMigratedAtAnnotation } from "../../api/rules/keys.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError, isInvalid, undefinedIfNotFound } from "../../kube/client/errors.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { MigrateConfig } from "./config.ts";
import { listServed } from "./list-served.ts";
import { definitionNamed } from "./our-definitions.ts";
import type { Outcome } from "./outcome.ts";
import { writeOne } from "./write-one.ts";

/** Claims come after the objects that they refer to. */
const kindsInOrder: readonly ResourceType[] = [sandboxWarmPoolType, sandboxTemplateType, sandboxType, sandboxClaimType];

const atOnce = 16;

interface Rewriting {
  readonly client: KubeClient;
  /** The annotation's value for this run. */
  readonly at: string;
  readonly signal: AbortSignal;
}

/**
 * Writes an annotation to every object, so that the API server stores it again, in the current storage version. An
 * object is written even if an earlier run has written it: it may have been restored from a backup since. A failed
 * write is a problem and does not stop the others. So is a kind that cannot be listed.
 *
 * @throws ApiUnreachable when the API server does not answer.
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
    const objects = await listServed(client, type, namespace, signal).catch((error: unknown) => {
      // The server's message names the object whose conversion failed.
      if (!(error instanceof ApiError)) throw error;
      problems.push(`${type.plural} cannot be listed: ${error.message}`);
      return [];
    });
    // The extensions may not be installed. Sandboxes are always installed after the upgrade.
    const unserved = `${type.plural} are not served in ${type.version}`;
    if (!objects) {
      const isMissing = type === sandboxType || (await isInstalled(type, client, signal));
      if (isMissing) problems.push(`${unserved}: upgrade the definitions first`);
      else notes.push(`${unserved}: skipped`);
    }
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

/** Objects of a kind whose definition exists may be stored in any of its versions. */
const isInstalled = async (type: ResourceType, client: KubeClient, signal: AbortSignal): Promise<boolean> =>
  (await definitionNamed(`${type.plural}.${type.group}`, client, signal).catch(undefinedIfNotFound)) !== undefined;

function rewrite(
  type: ResourceType,
  { metadata: { namespace, name = "" } }: KubeObject,
  { client, at, signal }: Rewriting,
): Promise<"written" | "gone" | Error> {
  // Without a precondition: whatever object has this name is to be stored again, and the patch changes nothing else of it.
  const write = (body: object) => client.patch(type, { namespace, name }, { type: "merge", body }, {}, signal);
  return writeOne(
    () =>
      write({ metadata: { annotations: { [storageMigratedAtAnnotation]: at } } }).catch((error: unknown) => {
        if (!isInvalid(error)) throw error;
        // The annotations may have no room for one more. An empty patch also makes the server store an object of
        // another version again.
        return write({});
      }),
    signal,
  );
}

function* inGroupsOf<T>(size: number, items: readonly T[]): Iterable<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
