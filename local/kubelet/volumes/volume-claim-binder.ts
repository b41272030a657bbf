import { type PersistentVolumeClaim, persistentVolumeClaimType } from "../../../api/kinds/core.ts";
import { parseKey, type Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isOfAnotherObject } from "../../../kube/client/errors.ts";
import type { Informer } from "../../../kube/informer/informer.ts";
import { runGuarded } from "../../../lib/guard/guard.ts";
import type { Logger } from "../../../lib/log/log.ts";
import type { Running } from "../../../lib/process/lifecycle.ts";
import { KeyedQueue } from "../../../lib/queues/keyed-queue.ts";
import { startWorkers } from "../../../lib/queues/workers.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { isProtected, unprotect } from "./claim-protection.ts";
import type { Volumes } from "./volumes.ts";

export interface ClaimBinderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Volumes;
}

/** Binds every claim to a directory of its own, and removes the directory before the claim goes. */
export function startClaimBinder({ client, clock, log, claims, volumes }: ClaimBinderOptions): Running {
  const queue = new KeyedQueue(clock);
  /** The keys of claims whose data a Pod still uses, by UID. */
  const leaving = new Map<string, string>();
  const changes = claims.onChange(({ key, previous, current }) => {
    if (current) queue.add(key);
    if (previous && previous.metadata.uid !== current?.metadata.uid) remove(previous.metadata.uid);
  });
  for (const claim of claims.store.list()) queue.add(`${claim.metadata.namespace}/${claim.metadata.name}`);

  volumes.whenClaimRemoved((uid) => {
    const key = leaving.get(uid);
    if (key !== undefined) queue.add(key);
  });

  /** No finalizer holds it any more. */
  const remove = (uid: string) => {
    leaving.delete(uid);
    runGuarded("kubelet", () => volumes.removeClaim(uid));
  };

  const workers = startWorkers({
    name: "the binder of volume claims",
    queue,
    workers: 2,
    async reconcile(key, signal) {
      const claim = claims.store.get(key);
      if (claim?.metadata.deletionTimestamp) {
        // Before that: a Pod may end meanwhile.
        leaving.set(claim.metadata.uid, key);
        await release({ client, volumes }, claim, signal);
        return {};
      }
      if (!claim || claim.status?.phase === "Bound") return {};
      await bind(client, key, claim, signal);
      return {};
    },
    onFailure: (key, error) =>
      log.warn({ err: error, claim: key }, "could not bind or release a PersistentVolumeClaim; requeued"),
  });
  return {
    failed: workers.failed,
    async [Symbol.asyncDispose]() {
      changes[Symbol.dispose]();
      await workers[Symbol.asyncDispose]();
    },
  };
}

async function bind(
  client: KubeClient,
  key: string,
  claim: Stored<PersistentVolumeClaim>,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = claim.metadata;
  const where = parseKey(key);
  const volumeName = claim.spec?.volumeName ?? `pvc-${uid}`;
  try {
    const spec = { metadata: { uid }, spec: { volumeName } };
    await client.patch(persistentVolumeClaimType, where, { type: "merge", body: spec }, {}, signal);
    const status = { metadata: { uid }, status: boundStatus(claim) };
    const toStatus = { subresource: "status" } as const;
    await client.patch(persistentVolumeClaimType, where, { type: "merge", body: status }, toStatus, signal);
  } catch (error) {
    if (!isOfAnotherObject(error)) throw error;
  }
}

/** Lets a deleted claim go once its data is removed. If a Pod uses it, this is called again. */
async function release(
  { client, volumes }: Pick<ClaimBinderOptions, "client" | "volumes">,
  claim: Stored<PersistentVolumeClaim>,
  signal: AbortSignal,
): Promise<void> {
  if (isProtected(claim) && (await volumes.removeClaim(claim.metadata.uid))) await unprotect(client, claim, signal);
}

/** A directory has no size: the claim gets the requested one. */
function boundStatus({ spec }: PersistentVolumeClaim): object {
  const storage = spec?.resources?.requests?.["storage"];
  return { phase: "Bound", accessModes: spec?.accessModes ?? [], ...(storage && { capacity: { storage } }) };
}
