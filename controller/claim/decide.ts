import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { SandboxTemplate } from "../../api/kinds/sandbox-template.ts";
import { claimedSandboxName } from "../../api/rules/claimed-sandbox-name.ts";
import { effectiveClaimShutdownPolicy } from "../../api/rules/defaults.ts";
import { templateRefAnnotation } from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { describeOwner, ownershipOf } from "../ownership.ts";
import { ownedBy } from "../sandbox/metrics/metric-labels.ts";
import { assignmentOf } from "./adoption/assignment.ts";
import { boundPatch, type LaunchType } from "./adoption/bound-patch.ts";
import { adoptableFrom, poolKeyOf } from "./adoption/pool-membership.ts";
import { ClaimProblem } from "./claim-problem.ts";
import { claimedPodMetadata } from "./create/claimed-pod-metadata.ts";
import { templateOf } from "./create/template-of.ts";
import { validateMetadata } from "./create/validate-metadata.ts";
import type { Observed } from "./observed.ts";
import { isExpired, isMarkedExpired } from "./status/expiry.ts";

/**
 * The number of Sandboxes that one pass deletes: a tenant can make a claim the controller of a thousand. Each deletion that
 * the watch shows causes another pass.
 */
const deletionsMax = 10;

/** The next step for a claim. After `confirm` and `unassign` the claim is observed again, and another step follows. */
export type Step =
  /** The claim has expired; the status reports that before anything is deleted. */
  | { readonly do: "markExpired" }
  | { readonly do: "deleteClaim"; readonly foreground: boolean }
  /** The claim stays; the Sandboxes that it controls are deleted. */
  | {
      readonly do: "tearDown";
      readonly sandbox: Stored<Sandbox> | undefined;
      readonly toDelete: readonly Stored<Sandbox>[];
    }
  /** Read a named Sandbox from the API server before the claim gives it up. */
  | { readonly do: "confirm"; readonly name: string }
  /** The claim is assigned a Sandbox that it cannot have. */
  | { readonly do: "unassign"; readonly name: string }
  | {
      readonly do: "use";
      /** Found by an assignment; a legacy label becomes an annotation. */
      readonly byAssignment: boolean;
      readonly sandbox: Stored<Sandbox>;
      readonly patch: object | undefined;
      readonly surplus: readonly Stored<Sandbox>[];
    }
  /** An adoption was started, and the Sandbox still belongs to the pool. */
  | { readonly do: "completeAdoption"; readonly sandbox: Stored<Sandbox> }
  | { readonly do: "adoptOrCreate" }
  | { readonly do: "create" };

/**
 * The next step for one claim.
 *
 * @throws ClaimProblem and Error with the reason that nothing can be done.
 */
export function decide(seen: Observed, labelDomains: readonly string[]): Step {
  const { claim, now } = seen;
  if (isExpired(claim, now)) return expire(seen);
  validateMetadata(claim.spec.additionalPodMetadata ?? {}, labelDomains);
  return recordedSandbox(seen) ?? assignedSandbox(seen) ?? namesake(seen) ?? anySandbox(seen);
}

function expire({ claim, sandboxes, own }: Observed): Step {
  if (!isMarkedExpired(claim)) return { do: "markExpired" };
  const policy = effectiveClaimShutdownPolicy(claim.spec.lifecycle);
  if (policy !== "Retain") return { do: "deleteClaim", foreground: policy === "DeleteForeground" };
  const sandbox = sandboxes.get(claim.status?.sandbox?.name ?? claimedSandboxName(claim.metadata));
  if (!sandbox || ownershipOf(sandbox, claim) === "owned") {
    const all = new Map([...own, ...(sandbox ? [sandbox] : [])].map((each) => [each.metadata.uid, each]));
    return { do: "tearDown", sandbox, toDelete: someUndeleted([...all.values()]) };
  }
  const message = `Claim expired. Sandbox ${sandbox.metadata.name} is not controlled by this claim; its deletion was skipped.`;
  throw new ClaimProblem("ClaimExpired", message);
}

/** The Sandbox that the status names. */
function recordedSandbox(seen: Observed): Step | undefined {
  const name = seen.claim.status?.sandbox?.name;
  if (!name) return undefined;
  const sandbox = seen.sandboxes.get(name);
  if (!sandbox || ownershipOf(sandbox, seen.claim) !== "owned") return unlessConfirmed(seen, name);
  const warm = name === assignmentOf(seen.claim)?.name || name !== claimedSandboxName(seen.claim.metadata);
  return use(seen, sandbox, { launchType: warm ? "warm" : "cold", byAssignment: false });
}

/** The Sandbox that the claim is assigned, whether or not its status names it yet. */
function assignedSandbox(seen: Observed): Step | undefined {
  const { claim } = seen;
  const name = assignmentOf(claim)?.name;
  if (name === undefined) return undefined;
  const sandbox = seen.sandboxes.get(name);
  if (sandbox && ownershipOf(sandbox, claim) === "owned") {
    return use(seen, sandbox, { launchType: "warm", byAssignment: true });
  }
  if (sandbox && adoptableFrom(sandbox) === poolKeyOf(claim)) return { do: "completeAdoption", sandbox };
  if (sandbox && isNobodysToGive(sandbox)) return undefined;
  return unlessConfirmed(seen, name) ?? { do: "unassign", name };
}

/** The Sandbox belongs neither to a pool nor to a claim. The cause is unknown, so the assignment stays visible. */
const isNobodysToGive = (sandbox: Sandbox): boolean => ownedBy(sandbox) === "None";

function namesake(seen: Observed): Step | undefined {
  const name = claimedSandboxName(seen.claim.metadata);
  const sandbox = seen.sandboxes.get(name);
  if (!sandbox) return undefined;
  if (ownershipOf(sandbox, seen.claim) === "owned") {
    return use(seen, sandbox, { launchType: "cold", byAssignment: false });
  }
  throw new Error(
    `Sandbox ${name} exists and is controlled by ${describeOwner(sandbox)}; use another claim name or delete the Sandbox`,
  );
}

function anySandbox({ claim, template }: Observed): Step {
  const { env = [], volumeClaimTemplates = [] } = claim.spec;
  // Variables and volumes cannot be added to a running Pod.
  if (env.length > 0 || volumeClaimTemplates.length > 0) return { do: "create" };
  // A contradiction in the metadata is reported before a Sandbox is taken from the pool.
  if (template) claimedPodMetadata(template.spec.podTemplate, claim, nameHash(template.metadata.name));
  return { do: "adoptOrCreate" };
}

// A store may not show yet what another controller has just done for this claim. To give the Sandbox up because of a
// stale store would bind a second Sandbox and orphan the first.
const unlessConfirmed = ({ confirmed }: Observed, name: string): Step | undefined =>
  confirmed.has(name) ? undefined : { do: "confirm", name };

interface Found {
  readonly launchType: LaunchType;
  readonly byAssignment: boolean;
}

function use(seen: Observed, sandbox: Stored<Sandbox>, { launchType, byAssignment }: Found): Step {
  const { claim, own } = seen;
  const { name, uid } = sandbox.metadata;
  const patch = boundPatch(sandbox, claim, templateOfBound(seen, sandbox), launchType);
  const only = { do: "use", byAssignment, sandbox, patch, surplus: [] } as const;
  // Only a Sandbox that the status names and that is not being deleted is kept for certain. Until then none is surplus.
  const certain = claim.status?.sandbox?.name === name && staysUndeleted(sandbox);
  const surplus = someUndeleted(own.filter(({ metadata }) => metadata.uid !== uid));
  const assignment = assignmentOf(claim);
  const assignedInVain = assignment !== undefined && !assignment.legacy && assignment.name !== name;
  if (!certain || (surplus.length === 0 && !assignedInVain)) return only;
  const confirm = unlessConfirmed(seen, name);
  if (confirm) return confirm;
  return assignedInVain ? { do: "unassign", name: assignment.name } : { ...only, surplus };
}

const staysUndeleted = ({ metadata }: Sandbox): boolean => !metadata.deletionTimestamp;

const someUndeleted = (sandboxes: readonly Stored<Sandbox>[]): readonly Stored<Sandbox>[] =>
  sandboxes.filter(staysUndeleted).slice(0, deletionsMax);

/** A bound claim does not need its template, unless it asks for metadata that must agree with the template's. */
function templateOfBound(seen: Observed, sandbox: Sandbox): Stored<SandboxTemplate> | undefined {
  const template = templateOf(sandbox, seen);
  // Typed clients write empty metadata when they ask for none.
  const { labels, annotations } = seen.claim.spec.additionalPodMetadata ?? {};
  const asksForMetadata = Object.keys({ ...labels, ...annotations }).length > 0;
  if (template || !asksForMetadata) return template;
  const name = sandbox.metadata.annotations?.[templateRefAnnotation];
  if (name && seen.pool) throw templateNotFound(name);
  return requireTemplate({ ...seen, template });
}

/** @throws ClaimProblem for a missing pool or template. */
export function requireTemplate({ claim, pool, template }: Observed): Stored<SandboxTemplate> {
  if (!pool) throw new ClaimProblem("WarmPoolNotFound", `SandboxWarmPool "${claim.spec.warmPoolRef.name}" not found`);
  if (template) return template;
  throw templateNotFound(pool.spec.sandboxTemplateRef.name);
}

const templateNotFound = (name: string) => new ClaimProblem("TemplateNotFound", `SandboxTemplate "${name}" not found`);
