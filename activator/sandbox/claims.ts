import { keyFor, type Stored } from "../../api/kinds/meta.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import { ApiError } from "../../kube/client/errors.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { aborted, type Running, startTask } from "../../lib/process/lifecycle.ts";
import type { Backoff } from "../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../lib/queues/repeat-until-done.ts";
import type { Cluster, ClusterOptions } from "./cluster.ts";
import { slimClaim } from "./slim-objects.ts";
import type { SlimSandbox } from "./slim-sandbox.ts";

/** The sandboxes of SandboxClaims, where the kind is installed. */
export interface Claims {
  /** The sandbox that this claim owns, for any status of the claim. */
  sandboxOf(namespace: string, name: string): Stored<SlimSandbox> | undefined;
  /** Whether the first list has succeeded, or claims are known to be unavailable. */
  readonly settled: boolean;
  /** Resolves at that moment; never if disposed of before. */
  readonly firstSettled: Promise<void>;
}

// Without the kind, the API server is checked again, because it may be installed later; after a failed check, sooner.
const absentRecheckMs = 60_000;
const backoff: Backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.5 };

/**
 * Follows SandboxClaims once the API server serves them: not every install has the kind, and not every one lets the activator
 * read it. Everything else works without.
 */
export function startClaims(options: ClusterOptions, cluster: Pick<Cluster, "sandbox">): Claims & Running {
  const { client, clock, log } = options;
  let informer: Informer<SandboxClaim> | undefined;
  let settled = false;
  const firstSettled = Promise.withResolvers<void>();
  const settle = () => {
    settled = true;
    firstSettled.resolve();
  };

  /** Milliseconds until the next check; undefined once they are served. */
  const ask = async (signal: AbortSignal): Promise<number | undefined> => {
    try {
      await client.list(sandboxClaimType, { limit: 1, resourceVersion: "0" }, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!isRefusal(error)) throw error;
      if (!settled)
        log.info(
          { reason: error.reason },
          "SandboxClaims cannot be listed, so host names of claims lead nowhere; checking again every minute",
        );
      settle();
      return absentRecheckMs;
    }
  };

  const task = startTask("the lookup of claims", async (signal) => {
    await repeatUntilDone({ clock, signal, backoff, round: ask, onFailure: () => undefined });
    if (signal.aborted) return;
    await using following = startInformer<SandboxClaim>({
      ...options,
      type: sandboxClaimType,
      indexes: {},
      transform: slimClaim,
    });
    informer = following;
    void following.synced.then(settle);
    await Promise.race([aborted(signal), following.failed]);
  });
  return {
    sandboxOf(namespace, name) {
      const claim = informer?.store.get(keyFor(namespace, name));
      const sandboxName = claim?.status?.sandbox?.name;
      const sandbox = sandboxName ? cluster.sandbox(namespace, sandboxName) : undefined;
      if (!claim || !sandbox) return undefined;
      return controllerOfKind(sandbox, sandboxClaimType)?.uid === claim.metadata.uid ? sandbox : undefined;
    },
    get settled() {
      return settled;
    },
    firstSettled: firstSettled.promise,
    failed: task.failed,
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/** The kind is absent, or not readable for the activator. */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.code === 403 || error.code === 404);
