import type { SandboxClaimSpec, SandboxClaimStatus } from "../kinds/sandbox-claim.ts";
import { claimedSandboxName } from "../rules/claimed-sandbox-name.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { migrationPoolName, migrationPoolPrefix } from "../rules/names.ts";
import { isFields } from "./fields.ts";
import { readState, type State, UnreadableState, withoutState, withState } from "./state.ts";
import type { SandboxClaimSpecV1alpha1, SandboxClaimV1alpha1, Spoken } from "./v1alpha1.ts";

type SpokenClaim = Spoken<SandboxClaimSpec, SandboxClaimStatus>;
type PoolFields = Partial<Pick<SandboxClaimSpecV1alpha1, "sandboxTemplateRef" | "warmpool">>;

const stateKey = v1alpha1StateAnnotations.SandboxClaim;

/**
 * Template and policy become one pool: the named pool, the pool that the claim was served from, or the template's own.
 */
export function claimToV1beta1(source: SandboxClaimV1alpha1, ignored: string[]): SpokenClaim {
  const { spec, ...object } = source;
  const { sandboxTemplateRef, warmpool, ...shared } = spec ?? {};
  const name = specificPool(warmpool) ?? servedFrom(source) ?? migrationPoolName(sandboxTemplateRef?.name ?? "");
  const remainder = {
    spec: {
      ...(sandboxTemplateRef && { sandboxTemplateRef: { name: sandboxTemplateRef.name } }),
      ...(warmpool !== undefined && { warmpool }),
    },
  };
  return withState({ ...object, spec: { ...shared, warmPoolRef: { name } } }, remainder, stateKey, ignored);
}

/**
 * If the claim's pool is still the one that its `v1alpha1` original resulted in, the original fields are restored. A
 * state that cannot be parsed counts as absent and is added to `ignored`.
 */
export function claimToV1alpha1(source: SpokenClaim, ignored: string[]): SandboxClaimV1alpha1 {
  const { spec, ...object } = source;
  const { warmPoolRef, volumeClaimTemplates: _notInThisVersion, ...shared } = spec ?? {};
  const pool = warmPoolRef?.name ?? "";
  const written = readState(source, stateKey, poolFieldsIn, ignored);
  const fields = written ? poolFieldsSince(written, pool, source) : poolFieldsFrom(pool);
  return withoutState({ ...object, spec: { ...shared, ...fields } }, stateKey);
}

/**
 * The template that a claim names by itself: it was written in `v1alpha1`, without a pool, and its pool is still the one that this
 * resulted in. Undefined for every other claim, which names only a pool. A client that may write the claim may also write its state by
 * hand, and gets no more by that than by writing the claim in `v1alpha1`.
 */
export function templateNamedBy(claim: SpokenClaim): string | undefined {
  const pool = claim.spec?.warmPoolRef?.name ?? "";
  // Most claims name a real pool, and a state may be long.
  if (!pool.startsWith(migrationPoolPrefix)) return undefined;
  const written = readState(claim, stateKey, poolFieldsIn, []);
  const name = written?.sandboxTemplateRef?.name;
  if (!name || specificPool(written.warmpool) !== undefined) return undefined;
  return pool === migrationPoolName(name) ? name : undefined;
}

/** The pool that a claim names. */
function specificPool(warmpool: string | undefined): string | undefined {
  return warmpool === undefined || warmpool === "" || warmpool === "none" || warmpool === "default"
    ? undefined
    : warmpool;
}

/**
 * The pool that a claim was served from: the sandbox then has a name generated from the pool's. Otherwise it has a name
 * derived from the claim's.
 */
export function servedFrom({ metadata, status }: SandboxClaimV1alpha1): string | undefined {
  const sandboxName = status?.sandbox?.name;
  // Other releases use the claim's name unchanged.
  const itsOwn: readonly (string | undefined)[] = [metadata.name, claimedSandboxName(metadata)];
  return sandboxName && !itsOwn.includes(sandboxName) ? withoutSuffix(sandboxName) : undefined;
}

/**
 * `my-pool-abcde` without the generated suffix: the name up to its last dash, as in the ecosystem. A generated name is cut to 63
 * characters, so of a pool with a name of 58 or more the sandbox's name does not tell all; the migration reports that.
 */
function withoutSuffix(name: string): string {
  const dash = name.lastIndexOf("-");
  return dash < 0 ? name : name.slice(0, dash);
}

function poolFieldsFrom(pool: string): PoolFields {
  return pool.startsWith(migrationPoolPrefix)
    ? { sandboxTemplateRef: { name: pool.slice(migrationPoolPrefix.length) }, warmpool: "default" }
    : { sandboxTemplateRef: { name: pool }, warmpool: pool };
}

function poolFieldsSince(written: PoolFields, pool: string, { status }: SpokenClaim): PoolFields {
  const expected = specificPool(written.warmpool) ?? written.sandboxTemplateRef?.name ?? "";
  const sandboxName = status?.sandbox?.name;
  const unchanged =
    pool === expected ||
    pool === migrationPoolName(expected) ||
    (sandboxName !== undefined && sandboxName !== "" && (pool === sandboxName || pool === withoutSuffix(sandboxName)));
  return unchanged ? written : { ...written, warmpool: pool };
}

function poolFieldsIn({ spec: { sandboxTemplateRef, warmpool } }: State): PoolFields {
  return {
    ...(sandboxTemplateRef !== undefined && { sandboxTemplateRef: templateRefIn(sandboxTemplateRef) }),
    ...(warmpool !== undefined && warmpool !== null && { warmpool: warmpoolIn(warmpool) }),
  };
}

/** Only the name is used: other fields written by a tenant must not appear in lists. */
function templateRefIn(value: unknown): { readonly name: string } {
  const name = isFields(value) ? value["name"] : undefined;
  if (typeof name === "string") return { name };
  throw new UnreadableState("its sandboxTemplateRef has no name");
}

function warmpoolIn(value: unknown): string {
  if (typeof value === "string") return value;
  throw new UnreadableState("its warmpool is not a string");
}
