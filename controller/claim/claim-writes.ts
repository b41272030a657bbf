import { keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import type { DeleteOptions, KubeClient } from "../../kube/client/client.ts";
import { isConflict, isRejected, undefinedIfNotFound } from "../../kube/client/errors.ts";
import type { Notes } from "../../kube/notes/notes.ts";
import { patchOfSame, type WithMetadata } from "../merge-patch.ts";
import type { OwnWrites } from "../own-writes.ts";
import { ownershipOf } from "../ownership.ts";

/** A merge patch whose annotations only inform. */
export interface NotedPatch {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly labels?: object | undefined;
    readonly annotations?: object | undefined;
    readonly ownerReferences?: readonly object[];
  };
  readonly spec?: object | undefined;
}

/** Attempts to delete a Sandbox that keeps changing. The last one goes by its UID alone. */
const attemptsMax = 5;

export interface ClaimWritesOptions {
  readonly client: KubeClient;
  /** For writes that no user waits for. */
  readonly slowClient: KubeClient;
  readonly claims: OwnWrites<SandboxClaim, "pool">;
  readonly sandboxes: OwnWrites<Sandbox, "controllerUid">;
  readonly notes: Notes;
}

/** All writes for claims, and direct reads from the API server; the stores show each result at once. */
export class ClaimWrites {
  readonly #client: KubeClient;
  readonly #slowClient: KubeClient;
  readonly #claims: ClaimWritesOptions["claims"];
  readonly #sandboxes: ClaimWritesOptions["sandboxes"];

  readonly #notes: Notes;

  constructor({ client, slowClient, claims, sandboxes, notes }: ClaimWritesOptions) {
    this.#client = client;
    this.#slowClient = slowClient;
    this.#claims = claims;
    this.#sandboxes = sandboxes;
    this.#notes = notes;
  }

  patchClaim(
    claim: Stored<SandboxClaim>,
    body: WithMetadata,
    signal: AbortSignal,
    subresource?: "status",
  ): Promise<Stored<SandboxClaim>> {
    const { namespace, name } = claim.metadata;
    const options = subresource ? { subresource } : {};
    const patch = patchOfSame(claim, body);
    const call = () => this.#client.patch(sandboxClaimType, { namespace, name }, patch, options, signal);
    return subresource ? this.#claims.write(keyOf(claim), call) : this.#claims.patch(claim, body, call);
  }

  /** Writes an annotation on a claim that no user waits for. */
  noteOnClaim(claim: Stored<SandboxClaim>, body: WithMetadata, signal: AbortSignal): Promise<Stored<SandboxClaim>> {
    const { namespace, name } = claim.metadata;
    const patch = patchOfSame(claim, body);
    return this.#claims.patch(claim, body, () =>
      this.#slowClient.patch(sandboxClaimType, { namespace, name }, patch, {}, signal),
    );
  }

  /**
   * Deletes a claim at the resourceVersion that was read. A claim that has changed since may have been given more time:
   * it stays, the store shows it as it is now, and false is returned. A claim that is gone counts as deleted.
   */
  async deleteClaim(
    claim: Stored<SandboxClaim>,
    options: Pick<DeleteOptions, "propagationPolicy">,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    const precise = { ...options, preconditions: { uid, resourceVersion } };
    const call = () => this.#client.delete(sandboxClaimType, { namespace, name }, precise, signal);
    try {
      await this.#claims.delete(claim, call).catch(undefinedIfNotFound);
      return true;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    return (await this.freshClaim(claim, signal)) === undefined;
  }

  createSandbox(sandbox: Sandbox, signal: AbortSignal): Promise<Stored<Sandbox>> {
    return this.#sandboxes.create(keyOf(sandbox), () => this.#client.create(sandboxType, sandbox, {}, signal));
  }

  /** A patch that the API server rejects for its annotations is written without them: a tenant may have left no room. */
  async patchSandbox(sandbox: Stored<Sandbox>, body: NotedPatch, signal: AbortSignal): Promise<Stored<Sandbox>> {
    const { metadata: { annotations, ...metadata } = {}, ...rest } = body;
    const names = Object.keys(annotations ?? {}).join(", ");
    const writeRest = () => this.#patchSandbox(sandbox, { ...rest, metadata }, signal);
    if (names === "") return this.#patchSandbox(sandbox, body, signal);
    if (this.#notes.waitMs(sandbox, names) > 0) return writeRest();
    try {
      return await this.#patchSandbox(sandbox, body, signal);
    } catch (error) {
      if (!isRejected(error)) throw error;
      const patched = await writeRest();
      this.#notes.rejected(sandbox, names, error);
      return patched;
    }
  }

  #patchSandbox(sandbox: Stored<Sandbox>, body: WithMetadata, signal: AbortSignal): Promise<Stored<Sandbox>> {
    const { namespace, name } = sandbox.metadata;
    const patch = patchOfSame(sandbox, body);
    return this.#sandboxes.patch(sandbox, body, () =>
      this.#client.patch(sandboxType, { namespace, name }, patch, {}, signal),
    );
  }

  /**
   * Deletes a Sandbox while the claim controls it. A Sandbox that has changed since it was read is read and checked
   * again. A Sandbox that changes all the time is deleted too: else a client that writes it could keep it for ever, and a Sandbox that the
   * last read shows with this claim as its controller is given to nobody else.
   */
  async deleteSandbox(seen: Stored<Sandbox>, claim: Stored<SandboxClaim>, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = seen.metadata;
    let sandbox: Stored<Sandbox> | undefined = seen;
    for (let attempt = 1; ; attempt += 1) {
      const { resourceVersion } = sandbox.metadata;
      const preconditions = { uid, ...(attempt < attemptsMax && { resourceVersion }) };
      const call = () => this.#client.delete(sandboxType, { namespace, name }, { preconditions }, signal);
      try {
        return await this.#sandboxes.delete(sandbox, call).catch(undefinedIfNotFound);
      } catch (error) {
        if (!isConflict(error) || attempt === attemptsMax) throw error;
      }
      sandbox = await this.freshSandbox(namespace, name, signal);
      if (sandbox?.metadata.uid !== uid || ownershipOf(sandbox, claim) !== "owned") return;
    }
  }

  /** The claim as the API server has it now; undefined when this claim (by UID) is deleted or being deleted. */
  async freshClaim(seen: Stored<SandboxClaim>, signal: AbortSignal): Promise<Stored<SandboxClaim> | undefined> {
    const { namespace, name, uid } = seen.metadata;
    const read = () => this.#client.get(sandboxClaimType, { namespace, name }, signal);
    const claim = await this.#claims.read(keyOf(seen), read);
    return claim?.metadata.uid === uid && !claim.metadata.deletionTimestamp ? claim : undefined;
  }

  /** The Sandbox as the API server has it now. */
  freshSandbox(namespace: string | undefined, name: string, signal: AbortSignal): Promise<Stored<Sandbox> | undefined> {
    const read = () => this.#client.get(sandboxType, { namespace, name }, signal);
    return this.#sandboxes.read(keyFor(namespace, name), read);
  }
}
