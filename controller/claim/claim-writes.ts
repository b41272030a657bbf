import { keyFor, keyOf, type Stored } from "../../api/meta.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../api/sandbox-claim.ts";
import type { DeleteOptions, KubeClient } from "../../kube/client.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { OwnWrites } from "../own-writes.ts";

export interface ClaimWritesOptions {
  readonly client: KubeClient;
  /** For what nobody waits for. */
  readonly slowClient: KubeClient;
  readonly claims: OwnWrites<SandboxClaim, "pool">;
  readonly sandboxes: OwnWrites<Sandbox, "controllerUid">;
}

/** All that is written for claims, and what is read from the API server itself; the stores show each result at once. */
export class ClaimWrites {
  readonly #client: KubeClient;
  readonly #slowClient: KubeClient;
  readonly #claims: ClaimWritesOptions["claims"];
  readonly #sandboxes: ClaimWritesOptions["sandboxes"];

  constructor({ client, slowClient, claims, sandboxes }: ClaimWritesOptions) {
    this.#client = client;
    this.#slowClient = slowClient;
    this.#claims = claims;
    this.#sandboxes = sandboxes;
  }

  patchClaim(
    claim: Stored<SandboxClaim>,
    body: object,
    signal: AbortSignal,
    subresource?: "status",
  ): Promise<Stored<SandboxClaim>> {
    const { namespace, name } = claim.metadata;
    const options = subresource ? { subresource } : {};
    return this.#claims.write(keyOf(claim), () =>
      this.#client.patch(sandboxClaimType, { namespace, name }, { type: "merge", body }, options, signal),
    );
  }

  /** Writes something down on a claim for which nobody waits. */
  noteOnClaim(claim: Stored<SandboxClaim>, body: object, signal: AbortSignal): Promise<Stored<SandboxClaim>> {
    const { namespace, name } = claim.metadata;
    return this.#claims.write(keyOf(claim), () =>
      this.#slowClient.patch(sandboxClaimType, { namespace, name }, { type: "merge", body }, {}, signal),
    );
  }

  /** One that is gone is deleted. */
  async deleteClaim(
    claim: Stored<SandboxClaim>,
    options: Pick<DeleteOptions, "propagationPolicy">,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name, uid } = claim.metadata;
    const precise = { ...options, preconditions: { uid } };
    const call = () => this.#client.delete(sandboxClaimType, { namespace, name }, precise, signal);
    await this.#claims.delete(claim, call).catch(undefinedIfNotFound);
  }

  createSandbox(sandbox: Sandbox, signal: AbortSignal): Promise<Stored<Sandbox>> {
    return this.#sandboxes.write(keyOf(sandbox), () => this.#client.create(sandboxType, sandbox, {}, signal));
  }

  patchSandbox(sandbox: Stored<Sandbox>, body: object, signal: AbortSignal): Promise<Stored<Sandbox>> {
    const { namespace, name } = sandbox.metadata;
    return this.#sandboxes.write(keyOf(sandbox), () =>
      this.#client.patch(sandboxType, { namespace, name }, { type: "merge", body }, {}, signal),
    );
  }

  /** One that is gone is deleted. */
  async deleteSandbox(sandbox: Stored<Sandbox>, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = sandbox.metadata;
    const call = () => this.#client.delete(sandboxType, { namespace, name }, { preconditions: { uid } }, signal);
    await this.#sandboxes.delete(sandbox, call).catch(undefinedIfNotFound);
  }

  /** The claim as the API server has it now; undefined when that very claim is gone or going. */
  async freshClaim(seen: Stored<SandboxClaim>, signal: AbortSignal): Promise<Stored<SandboxClaim> | undefined> {
    const { namespace, name, uid } = seen.metadata;
    const read = () => this.#client.get(sandboxClaimType, { namespace, name }, signal);
    const claim = await this.#claims.write(keyOf(seen), read).catch(undefinedIfNotFound);
    return claim?.metadata.uid === uid && !claim.metadata.deletionTimestamp ? claim : undefined;
  }

  /** The Sandbox as the API server has it now. */
  freshSandbox(namespace: string | undefined, name: string, signal: AbortSignal): Promise<Stored<Sandbox> | undefined> {
    const read = () => this.#client.get(sandboxType, { namespace, name }, signal);
    return this.#sandboxes.write(keyFor(namespace, name), read).catch(undefinedIfNotFound);
  }
}

function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
