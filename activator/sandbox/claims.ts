import { keyFor, type Stored } from "../../api/kinds/meta.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import { ApiError, isKindMissing } from "../../kube/client/errors.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { aborted, type Running, startTask } from "../../lib/process/lifecycle.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import { repeatUntilDone } from "../../lib/queues/repeat-until-done.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import type { Cluster, ClusterOptions } from "./cluster.ts";
import { slimClaim } from "./slim-objects.ts";
import type { SlimSandbox } from "./slim-sandbox.ts";

/** The sandboxes of SandboxClaims, where the kind is installed. */
export interface Claims {
  /** The sandbox that this claim owns, for any status of the claim. */
  sandboxOf(namespace: string, name: string): Stored<SlimSandbox> | undefined;
  /** Whether the first list has succeeded, or claims are known to be unavailable. */
  readonly settled: boolean;
  /** Whether a replica that starts still waits for that before it is ready. */
  readonly isAwaited: boolean;
  /** Resolves when claims are settled; never if disposed of before. */
  readonly firstSettled: Promise<void>;
}

// Without the kind, the API server is checked again, because it may be installed later; after a failed check, sooner.
const absentRecheckMs = 60_000;
// An API server that starts may serve it in a moment, so the first checks come sooner.
const absences: Backoff = { baseMs: 1_000, maxMs: absentRecheckMs, jitter: 0 };
/**
 * How long a replica that starts waits for claims, in milliseconds. Then it is ready without: host names that may be those of
 * claims are rejected, and everything else works.
 */
const awaitedMs = 30_000;
const backoff: Backoff = { baseMs: 100, maxMs: 5_000, jitter: 0.5 };

/**
 * Follows SandboxClaims once the API server serves them: not every install has the kind, and not every one lets the activator
 * read it. Everything else works without.
 */
export function startClaims(options: ClusterOptions, cluster: Pick<Cluster, "sandbox">): Claims & Running {
  return new FollowedClaims(options, cluster);
}

class FollowedClaims implements Claims, Running {
  readonly failed: Promise<never>;
  readonly #options: ClusterOptions;
  readonly #cluster: Pick<Cluster, "sandbox">;
  readonly #startedMs: number;
  readonly #mayLog: OncePerMinute;
  readonly #firstSettled = Promise.withResolvers<void>();
  readonly #task: Running;
  #informer: Informer<SandboxClaim> | undefined;
  #settled = false;
  /** Consecutive checks without the kind. */
  #absent = 0;

  constructor(options: ClusterOptions, cluster: Pick<Cluster, "sandbox">) {
    this.#options = options;
    this.#cluster = cluster;
    this.#startedMs = options.clock.ticksMs();
    this.#mayLog = new OncePerMinute(options.clock);
    this.#task = startTask("the lookup of claims", (signal) => this.#follow(signal));
    this.failed = this.#task.failed;
  }

  get settled(): boolean {
    return this.#settled;
  }

  get firstSettled(): Promise<void> {
    return this.#firstSettled.promise;
  }

  get isAwaited(): boolean {
    return !this.#settled && this.#options.clock.ticksMs() - this.#startedMs < awaitedMs;
  }

  sandboxOf(namespace: string, name: string): Stored<SlimSandbox> | undefined {
    const claim = this.#informer?.store.get(keyFor(namespace, name));
    const sandboxName = claim?.status?.sandbox?.name;
    const sandbox = sandboxName ? this.#cluster.sandbox(namespace, sandboxName) : undefined;
    if (!claim || !sandbox) return undefined;
    return controllerOfKind(sandbox, sandboxClaimType)?.uid === claim.metadata.uid ? sandbox : undefined;
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#task[Symbol.asyncDispose]();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const onFailure = (err: unknown): undefined => {
      if (this.#mayLog.asks("failure")) log.warn({ err }, "SandboxClaims cannot be listed; retrying");
    };
    await repeatUntilDone({ clock, signal, backoff, round: (ending) => this.#ask(ending), onFailure });
    if (signal.aborted) return;
    await using following = startInformer<SandboxClaim>({
      ...this.#options,
      type: sandboxClaimType,
      indexes: {},
      transform: slimClaim,
    });
    this.#informer = following;
    void following.synced.then(() => this.#settle());
    await Promise.race([aborted(signal), following.failed]);
  }

  /** Milliseconds until the next check; undefined once they are served. */
  async #ask(signal: AbortSignal): Promise<number | undefined> {
    const { client, log } = this.#options;
    try {
      await client.list(sandboxClaimType, { limit: 1, resourceVersion: "0" }, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!isRefusal(error)) throw error;
      this.#absent = isKindMissing(error) ? this.#absent + 1 : 0;
      if (!this.#settled)
        log.info(
          { reason: error instanceof ApiError ? error.reason : "NotServed" },
          "SandboxClaims cannot be listed, so the name of a claim does not lead to its sandbox; checking again",
        );
      this.#settle();
      return this.#absent > 0 ? backoffDelayMs(this.#absent, absences) : absentRecheckMs;
    }
  }

  #settle(): void {
    this.#settled = true;
    this.#firstSettled.resolve();
  }
}

/** The kind is absent, or not readable for the activator. */
const isRefusal = (error: unknown): boolean =>
  isKindMissing(error) || (error instanceof ApiError && error.code === 403);
