import { claimedSandboxName } from "../../api/claimed-sandbox-name.ts";
import { effectiveClaimShutdownPolicy } from "../../api/defaults.ts";
import type { Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import type { SandboxTemplate } from "../../api/sandbox-template.ts";
import { describeOwner, ownershipOf } from "../ownership.ts";
import { ownedBy } from "../sandbox/metric-labels.ts";
import { assignmentOf } from "./assignment.ts";
import { boundPatch, type LaunchType } from "./bound-patch.ts";
import { ClaimProblem } from "./claim-problem.ts";
import { claimedPodMetadata } from "./claimed-pod-metadata.ts";
import { isExpired, isMarkedExpired } from "./expiry.ts";
import type { Observed } from "./observed.ts";
import { adoptableFrom, poolKeyOf } from "./pool-membership.ts";
import { validateMetadata } from "./validate-metadata.ts";

/** The next thing to do for a claim. After `confirm` and `unassign` comes another look, and another step. */
export type Step =
  /** Its time is over, and the status says so before anything is deleted. */
  | { readonly do: "markExpired" }
  | { readonly do: "deleteClaim"; readonly foreground: boolean }
  /** The claim stays, and what it controls goes. */
  | {
      readonly do: "tearDown";
      readonly sandbox: Stored<Sandbox> | undefined;
      readonly doomed: readonly Stored<Sandbox>[];
    }
  /** Before a Sandbox that the claim names is given up, the API server itself is asked about it. */
  | { readonly do: "confirm"; readonly name: string }
  /** The claim was given a Sandbox that it cannot have. */
  | { readonly do: "unassign"; readonly name: string }
  | {
      readonly do: "use";
      /** It was found by the assignment, which is to be written as it is written now. */
      readonly byAssignment: boolean;
      readonly sandbox: Stored<Sandbox>;
      readonly patch: object | undefined;
      readonly surplus: readonly Stored<Sandbox>[];
    }
  /** An adoption was begun, and the Sandbox is still the pool's. */
  | { readonly do: "completeAdoption"; readonly sandbox: Stored<Sandbox> }
  | { readonly do: "adoptOrCreate" }
  | { readonly do: "create" };

/**
 * What comes next for one claim.
 *
 * @throws ClaimProblem and Error for why nothing can be done.
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
    return { do: "tearDown", sandbox, doomed: [...all.values()].filter(staysUndeleted) };
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

/** The Sandbox that the claim was given, whether or not it knows it yet. */
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

/** Neither a pool's nor a claim's: it is not known whose mistake that is, so the assignment stays to be seen. */
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
  // Variables and volumes cannot be given to a Pod that runs already.
  if (env.length > 0 || volumeClaimTemplates.length > 0) return { do: "create" };
  // A contradiction is told before a sandbox is taken for the claim.
  if (template) claimedPodMetadata(template.spec.podTemplate, claim, nameHash(template.metadata.name));
  return { do: "adoptOrCreate" };
}

// A store may not show yet what another controller has just done for this claim. Giving up on its word would bind a
// second Sandbox and leave the first to nobody.
const unlessConfirmed = ({ confirmed }: Observed, name: string): Step | undefined =>
  confirmed.has(name) ? undefined : { do: "confirm", name };

interface Found {
  readonly launchType: LaunchType;
  readonly byAssignment: boolean;
}

function use(seen: Observed, sandbox: Stored<Sandbox>, { launchType, byAssignment }: Found): Step {
  const { claim, own } = seen;
  const { name, uid } = sandbox.metadata;
  const patch = boundPatch(sandbox, claim, templateOfBound(seen), launchType);
  const only = { do: "use", byAssignment, sandbox, patch, surplus: [] } as const;
  // Only what is recorded and stays is certain not to be given up; until then nothing is surplus.
  const certain = claim.status?.sandbox?.name === name && staysUndeleted(sandbox);
  const surplus = own.filter(({ metadata }) => metadata.uid !== uid).filter(staysUndeleted);
  const assignment = assignmentOf(claim);
  const assignedInVain = assignment !== undefined && !assignment.legacy && assignment.name !== name;
  if (!certain || (surplus.length === 0 && !assignedInVain)) return only;
  const confirm = unlessConfirmed(seen, name);
  if (confirm) return confirm;
  return assignedInVain ? { do: "unassign", name: assignment.name } : { ...only, surplus };
}

const staysUndeleted = ({ metadata }: Sandbox): boolean => !metadata.deletionTimestamp;

/** A bound claim outlives its template, unless it asks for metadata that has to agree with it. */
function templateOfBound(seen: Observed): Stored<SandboxTemplate> | undefined {
  // Clients with types for claims write empty metadata where they ask for none.
  const { labels, annotations } = seen.claim.spec.additionalPodMetadata ?? {};
  const asksForMetadata = Object.keys({ ...labels, ...annotations }).length > 0;
  return asksForMetadata ? requireTemplate(seen) : seen.template;
}

/** @throws ClaimProblem for a pool or a template that is missing. */
export function requireTemplate({ claim, pool, template }: Observed): Stored<SandboxTemplate> {
  if (!pool) throw new ClaimProblem("WarmPoolNotFound", `SandboxWarmPool "${claim.spec.warmPoolRef.name}" not found`);
  if (template) return template;
  throw new ClaimProblem("TemplateNotFound", `SandboxTemplate "${pool.spec.sandboxTemplateRef.name}" not found`);
}
