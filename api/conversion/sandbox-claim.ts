import { claimedSandboxName } from "../claimed-sandbox-name.ts";
import { v1alpha1StateAnnotations } from "../keys.ts";
import { migrationPoolName, migrationPoolPrefix } from "../names.ts";
import type { SandboxClaimSpec, SandboxClaimStatus } from "../sandbox-claim.ts";
import { type Fields, isFields } from "./fields.ts";
import { readState, type State, UnreadableState, withoutState, withState } from "./state.ts";
import type { SandboxClaimSpecV1alpha1, SandboxClaimV1alpha1, Spoken } from "./v1alpha1.ts";

type SpokenClaim = Spoken<SandboxClaimSpec, SandboxClaimStatus>;
type PoolFields = Partial<Pick<SandboxClaimSpecV1alpha1, "sandboxTemplateRef" | "warmpool">>;

const stateKey = v1alpha1StateAnnotations.SandboxClaim;

/** Template and policy become one pool: the one that is named, the one that it was served from, or the template's own. */
export function claimToV1beta1(source: SandboxClaimV1alpha1): SpokenClaim {
  const { spec, ...object } = source;
  const { sandboxTemplateRef, warmpool, ...shared } = spec ?? {};
  const name = specificPool(warmpool) ?? servedFrom(source) ?? migrationPoolName(sandboxTemplateRef?.name ?? "");
  return withState({ ...object, spec: { ...shared, warmPoolRef: { name } } }, source, stateKey);
}

/**
 * A claim whose pool is still the one that its `v1alpha1` original stood for gets back what was written there.
 * A state that cannot be read counts as none, and is added to `ignored`.
 */
export function claimToV1alpha1(source: SpokenClaim, ignored: string[]): SandboxClaimV1alpha1 {
  const { spec, ...object } = source;
  const { warmPoolRef, volumeClaimTemplates: _notInThisVersion, ...shared } = spec ?? {};
  const pool = warmPoolRef?.name ?? "";
  const written = readState(source, stateKey, poolFieldsIn, ignored);
  const fields = written ? poolFieldsSince(written, pool, source) : poolFieldsFrom(pool);
  return withoutState({ ...object, spec: { ...shared, ...fields } }, stateKey);
}

/** The pool that a claim insists on. */
function specificPool(warmpool: string | undefined): string | undefined {
  return warmpool === undefined || warmpool === "" || warmpool === "none" || warmpool === "default"
    ? undefined
    : warmpool;
}

/** A claim that was served from a pool has a sandbox of that pool's naming; one that was not has one of its own name. */
function servedFrom({ metadata, status }: SandboxClaimV1alpha1): string | undefined {
  const sandboxName = status?.sandbox?.name;
  // Other releases give it the claim's name as it is.
  const itsOwn: readonly (string | undefined)[] = [metadata.name, claimedSandboxName(metadata)];
  return sandboxName && !itsOwn.includes(sandboxName) ? withoutSuffix(sandboxName) : undefined;
}

/** `my-pool-abcde` without what was generated: the name up to its last dash. */
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

function templateRefIn(value: unknown): { readonly name: string } {
  if (isFields(value) && hasName(value)) return value;
  throw new UnreadableState("its sandboxTemplateRef has no name");
}

const hasName = (value: Fields): value is { readonly name: string } => typeof value["name"] === "string";

function warmpoolIn(value: unknown): string {
  if (typeof value === "string") return value;
  throw new UnreadableState("its warmpool is not a text");
}
