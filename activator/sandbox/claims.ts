import { controllerOf, keyFor, type Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/sandbox-claim.ts";
import { ApiError } from "../../kube/errors.ts";
import type { Informer } from "../../kube/informer.ts";
import { startInformer } from "../../kube/start-informer.ts";
import { type Backoff, backoffDelayMs } from "../../lib/backoff.ts";
import { aborted, type Running, startTask } from "../../lib/lifecycle.ts";
import type { Cluster, ClusterOptions } from "./cluster.ts";

/** Which sandboxes claims have, where there are claims. */
export interface Claims {
  /** The sandbox that is this claim's own, whatever the claim itself says. */
  sandboxOf(namespace: string, name: string): Stored<Sandbox> | undefined;
  /** Whether the first list has worked, or it is known that none will. */
  readonly settled: boolean;
}

// An install without claims is looked at again, for they may come to it; one that cannot be asked, sooner.
const absentRecheckMs = 60_000;
const backoff: Backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.5 };

/**
 * Starts to follow SandboxClaims once the API server serves them to us: not every install has them, and not every one
 * lets the activator read them. All else works without.
 */
export function startClaims(options: ClusterOptions, cluster: Pick<Cluster, "sandbox">): Claims & Running {
  const { client, clock, log } = options;
  let informer: Informer<SandboxClaim> | undefined;
  let settled = false;

  /** Milliseconds until asking again; undefined once they are served. */
  const ask = async (failures: number, signal: AbortSignal): Promise<number | undefined> => {
    try {
      await client.list(sandboxClaimType, { limit: 1, resourceVersion: "0" }, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!isRefusal(error)) return backoffDelayMs(failures, backoff);
      if (!settled) log.info({ reason: error.reason }, "claims are not reached by their names here");
      settled = true;
      return absentRecheckMs;
    }
  };

  const task = startTask("the lookup of claims", async (signal) => {
    for (let failures = 1; ; failures += 1) {
      const waitMs = await ask(failures, signal);
      if (waitMs === undefined) break;
      await clock.sleep(waitMs, signal);
    }
    await using following = startInformer<SandboxClaim>({ ...options, type: sandboxClaimType, indexes: {} });
    informer = following;
    void following.synced.then(() => {
      settled = true;
    });
    await Promise.race([aborted(signal), following.failed]);
  });
  return {
    sandboxOf(namespace, name) {
      const claim = informer?.store.get(keyFor(namespace, name));
      const sandboxName = claim?.status?.sandbox?.name;
      const sandbox = sandboxName ? cluster.sandbox(namespace, sandboxName) : undefined;
      return sandbox && controllerOf(sandbox)?.uid === claim?.metadata.uid ? sandbox : undefined;
    },
    get settled() {
      return settled;
    },
    failed: task.failed,
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/** The kind is not served, or not to us. */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.code === 403 || error.code === 404);
