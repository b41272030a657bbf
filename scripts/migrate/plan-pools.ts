import { servedFrom } from "../../api/conversion/sandbox-claim.ts";
import type { SandboxClaimV1alpha1, SandboxWarmPoolV1alpha1 } from "../../api/conversion/v1alpha1.ts";
import { keyFor, keyOf } from "../../api/kinds/meta.ts";
import { extensionsGroup } from "../../api/kinds/sandbox.ts";
import { migrationShadowAnnotation, migrationSourceTemplateAnnotation } from "../../api/rules/keys.ts";
import { migrationPoolName } from "../../api/rules/names.ts";

export interface PoolPlan {
  /** The pools that are missing, in the order of their claims. */
  readonly create: readonly SandboxWarmPoolV1alpha1[];
  readonly notes: readonly string[];
  readonly problems: readonly string[];
}

// The name of a pool becomes a label value.
const poolNameLengthMax = 63;

/**
 * The missing pools that claims will refer to in `v1beta1`. A claim that names no pool, and was not served from one,
 * will refer to a pool that represents its template. That pool creates no sandboxes itself.
 */
export function planPools(
  claims: readonly SandboxClaimV1alpha1[],
  pools: readonly SandboxWarmPoolV1alpha1[],
): PoolPlan {
  const existing = new Map(pools.map((pool) => [keyOf(pool), pool]));
  const create = new Map<string, SandboxWarmPoolV1alpha1>();
  const notes = new Set<string>();
  const problems = new Set<string>();
  for (const claim of claims) {
    const { namespace } = claim.metadata;
    const specific = specificPoolOf(claim);
    if (specific !== undefined) {
      if (!existing.has(keyFor(namespace, specific))) {
        notes.add(`claim ${keyOf(claim)} names pool ${specific}, which does not exist`);
      }
      continue;
    }
    if (isWarmStarted(claim)) {
      const pool = servedFrom(claim);
      if (pool !== undefined && !existing.has(keyFor(namespace, pool))) notes.add(unknownPool(claim, pool));
      continue;
    }
    const pool = poolFor(claim);
    const found = existing.get(keyOf(pool));
    const complaint = complaintAbout(claim, pool, found);
    if (complaint !== undefined) problems.add(complaint);
    else if (!found) create.set(keyOf(pool), pool);
  }
  return { create: [...create.values()], notes: [...notes], problems: [...problems] };
}

/** The conversion takes the pool from the name of the sandbox, and a generated name is cut to 63 characters. */
const unknownPool = (claim: SandboxClaimV1alpha1, pool: string): string =>
  `claim ${keyOf(claim)} was served from a pool. By the name of its sandbox, ${claim.status?.sandbox?.name}, the pool is ${pool}, but this pool does not exist: name the pool in spec.warmpool`;

const templateOf = ({ spec }: SandboxClaimV1alpha1 | SandboxWarmPoolV1alpha1): string =>
  spec?.sandboxTemplateRef?.name ?? "";

function specificPoolOf({ spec }: SandboxClaimV1alpha1): string | undefined {
  const { warmpool = "" } = spec ?? {};
  return ["", "none", "default"].includes(warmpool) ? undefined : warmpool;
}

/** A sandbox created for a claim has the claim's name. A sandbox of a pool has another name. */
function isWarmStarted({ metadata, status }: SandboxClaimV1alpha1): boolean {
  const sandboxName = status?.sandbox?.name;
  return sandboxName !== undefined && sandboxName !== "" && sandboxName !== metadata.name;
}

function poolFor(claim: SandboxClaimV1alpha1): SandboxWarmPoolV1alpha1 {
  const template = templateOf(claim);
  const { namespace } = claim.metadata;
  return {
    apiVersion: `${extensionsGroup}/v1alpha1`,
    kind: "SandboxWarmPool",
    metadata: {
      name: migrationPoolName(template),
      ...(namespace !== undefined && { namespace }),
      annotations: { [migrationShadowAnnotation]: "true", [migrationSourceTemplateAnnotation]: template },
    },
    spec: { replicas: 0, sandboxTemplateRef: { name: template } },
  };
}

function complaintAbout(
  claim: SandboxClaimV1alpha1,
  pool: SandboxWarmPoolV1alpha1,
  found: SandboxWarmPoolV1alpha1 | undefined,
): string | undefined {
  const { name = "" } = pool.metadata;
  const template = templateOf(pool);
  if (template === "") return `claim ${keyOf(claim)} names no template`;
  if (name.length > poolNameLengthMax) {
    return `claim ${keyOf(claim)}: pool ${name} would have a name of more than ${poolNameLengthMax} characters; give its template a shorter name`;
  }
  if (!found || templateOf(found) === template) return undefined;
  return `pool ${keyOf(found)} exists, but its template is ${templateOf(found)}, not ${template}`;
}
