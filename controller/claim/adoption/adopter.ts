import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import { isConflict, isNotFound, isRejected } from "../../../kube/client/errors.ts";
import { backoffDelayMs } from "../../../lib/queues/backoff.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { ownershipOf } from "../../ownership.ts";
import { ClaimProblem } from "../claim-problem.ts";
import type { ClaimWrites } from "../claim-writes.ts";
import { adoptionPatch } from "./adoption-patch.ts";
import { assignmentOf, assignPatch, type Notes, noNotes, unassignPatch } from "./assignment.ts";
import { adoptableFrom, poolKeyOf } from "./pool-membership.ts";

/** Another claim has the Sandbox, or it is deleted: it must not be offered to the next claim. */
export class CandidateLost extends ClaimProblem {
  constructor(name: string) {
    super("AdoptionConflict", conflictText(name, "was taken or deleted while it was being adopted"));
  }
}

// The backoff of client-go's retry.DefaultRetry, for conflicting writes.
const pause = { baseMs: 10, maxMs: 10, jitter: 0.1 };
const attemptsMax = 5;

/**
 * Gives a pool member to a claim exactly once, also with concurrent claims and after interruptions. It makes two
 * writes, each with the resourceVersion that was read, in this order:
 *
 * 1. the claim is assigned the Sandbox, so that every later pass of any process continues with this Sandbox;
 * 2. the Sandbox changes its owner. Until then any claim may still get it; afterwards it belongs to this claim.
 *
 * A claim whose assigned Sandbox went to another claim drops the assignment and takes another Sandbox.
 */
export class Adopter {
  readonly #writes: ClaimWrites;
  readonly #clock: Clock;

  constructor(writes: ClaimWrites, clock: Clock) {
    this.#writes = writes;
    this.#clock = clock;
  }

  /**
   * The first write.
   *
   * @throws ClaimProblem when the claim was replaced, was given another Sandbox, or kept changing. Then, and after any
   *   other error, the Sandbox is free.
   */
  async assign(
    seen: Stored<SandboxClaim>,
    name: string,
    notes: Notes,
    signal: AbortSignal,
  ): Promise<Stored<SandboxClaim>> {
    let claim: Stored<SandboxClaim> | undefined = seen;
    let kept = notes;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#writes.patchClaim(claim, assignPatch(claim, name, kept), signal);
      } catch (error) {
        // The claim may have room for the assignment alone. The next pass tries the notes, and reports them.
        if (isRejected(error) && kept !== noNotes) {
          kept = noNotes;
          continue;
        }
        if (!isConflict(error)) throw error;
        if (attempt === attemptsMax) throw conflict(name, "could not be assigned to a claim that keeps changing");
      }
      await this.#pause(signal);
      claim = await this.#writes.freshClaim(seen, signal);
      if (!claim || isTaken(claim, seen, name)) throw conflict(name, "is no longer wanted by the claim");
    }
  }

  /**
   * The second write. It never chooses another Sandbox, since this one is assigned.
   *
   * @throws CandidateLost when another claim has it; the assignment was removed if possible.
   * @throws ClaimProblem when the Sandbox kept changing; the assignment stays.
   */
  async adopt(
    claim: Stored<SandboxClaim>,
    seen: Stored<Sandbox>,
    template: Stored<SandboxTemplate> | undefined,
    signal: AbortSignal,
  ): Promise<Stored<Sandbox>> {
    const { name } = seen.metadata;
    let sandbox = seen;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#writes.patchSandbox(sandbox, adoptionPatch(sandbox, claim, template), signal);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
      const fresh = await this.#writes.freshSandbox(claim.metadata.namespace, name, signal);
      if (fresh && ownershipOf(fresh, claim) === "owned") return fresh;
      if (!fresh || adoptableFrom(fresh) !== poolKeyOf(claim)) {
        await this.#takeBack(claim, name, signal);
        throw new CandidateLost(name);
      }
      if (attempt === attemptsMax) throw conflict(name, "could not be adopted because it keeps changing");
      await this.#pause(signal);
      sandbox = fresh;
    }
  }

  /**
   * Removes an assignment if it is still set. A failure is harmless: the next pass finds the assignment and drops it.
   */
  async #takeBack(seen: Stored<SandboxClaim>, name: string, signal: AbortSignal): Promise<void> {
    try {
      for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
        const claim = await this.#writes.freshClaim(seen, signal);
        const patch = claim && unassignPatch(claim, name);
        if (!patch) return;
        const done = await this.#writes.patchClaim(claim, patch, signal).catch(undefinedIfConflict);
        if (done) return;
        await this.#pause(signal);
      }
    } catch {
      signal.throwIfAborted();
    }
  }

  #pause(signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(backoffDelayMs(1, pause), signal);
  }
}

/** Whether the claim was given another Sandbox since it was read. */
function isTaken(claim: Stored<SandboxClaim>, seen: Stored<SandboxClaim>, name: string): boolean {
  const known = [name, ...sandboxesOf(seen)];
  return sandboxesOf(claim).some((other) => !known.includes(other));
}

const sandboxesOf = (claim: SandboxClaim): readonly string[] =>
  [assignmentOf(claim)?.name, claim.status?.sandbox?.name].flatMap((name) => name || []);

const conflictText = (name: string, what: string): string =>
  `Sandbox "${name}" ${what} (conflict with another writer); the next pass retries from a converged view`;

const conflict = (name: string, what: string) => new ClaimProblem("AdoptionConflict", conflictText(name, what));

function undefinedIfConflict(error: unknown): undefined {
  if (!isConflict(error)) throw error;
}
