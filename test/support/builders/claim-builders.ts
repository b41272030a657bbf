// Claims and their objects as an API server returns them, for the namespace `lab`.

import type { Condition, ObjectMeta, Stored } from "../../../api/kinds/meta.ts";
import { apiVersionOf } from "../../../api/kinds/resource-type.ts";
import type { Sandbox, SandboxStatus } from "../../../api/kinds/sandbox.ts";
import { type SandboxClaim, type SandboxClaimSpec, sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import {
  claimUidLabel,
  launchTypeLabel,
  templateRefAnnotation,
  templateRefHashLabel,
} from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { currentBlueprint } from "../../../controller/blueprint/current-blueprint.ts";
import type { Observed } from "../../../controller/claim/observed.ts";
import { aSandbox, controlledBy, noon } from "./builders.ts";
import { aMember, aPool, aTemplate, type MemberParts } from "./extension-builders.ts";

/** A SandboxClaim named `task`, on the pool `warm`. */
export const aSandboxClaim = (
  spec: Partial<SandboxClaimSpec> = {},
  metadata: Partial<ObjectMeta> = {},
  status?: SandboxClaim["status"],
): Stored<SandboxClaim> => {
  const name = metadata.name ?? "task";
  return {
    apiVersion: apiVersionOf(sandboxClaimType),
    kind: sandboxClaimType.kind,
    metadata: {
      namespace: "lab",
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: noon,
      ...metadata,
      name,
    },
    spec: { warmPoolRef: { name: "warm" }, ...spec },
    ...(status && { status }),
  };
};

/** A Sandbox that was created for a claim from the template `tpl`. */
export function aClaimed(
  claim: Stored<SandboxClaim>,
  metadata: Partial<ObjectMeta> = {},
  status: SandboxStatus = {},
): Stored<Sandbox> {
  const template = aTemplate();
  const labels = { [claimUidLabel]: claim.metadata.uid, [templateRefHashLabel]: nameHash(template.metadata.name) };
  return aSandbox(
    { podTemplate: { metadata: { labels }, spec: currentBlueprint(template).podSpec } },
    {
      name: claim.metadata.name,
      labels: { ...labels, [launchTypeLabel]: "cold" },
      annotations: { [templateRefAnnotation]: template.metadata.name },
      ownerReferences: [controlledBy(claim)],
      ...metadata,
    },
    status,
  );
}

/** A member of the pool `warm` with an address, on `node-1`. */
export function aSpare(parts: MemberParts = {}, status: SandboxStatus = {}): Stored<Sandbox> {
  const member = aMember({ ready: true, ...parts });
  return { ...member, status: { ...member.status, podIPs: ["10.1.0.5"], nodeName: "node-1", ...status } };
}

export const aCondition = (condition: Partial<Condition> & Pick<Condition, "type">): Condition => ({
  status: "False",
  reason: "Because",
  message: "",
  lastTransitionTime: noon,
  ...condition,
});

/** One observation of a claim. The pool `warm` and the template `tpl` exist, and there is no Sandbox. */
export const anObservation = (
  claim: Stored<SandboxClaim>,
  seen: Partial<Omit<Observed, "sandboxes">> & { readonly sandboxes?: readonly Stored<Sandbox>[] } = {},
): Observed => {
  const { sandboxes = [], ...rest } = seen;
  const { template } = { template: aTemplate(), ...rest };
  return {
    now: new Date(noon),
    claim,
    pool: aPool(),
    template,
    templateNamed: (name) => (template?.metadata.name === name ? template : undefined),
    own: [],
    confirmed: new Set(),
    ...rest,
    sandboxes: new Map(sandboxes.map((sandbox) => [sandbox.metadata.name, sandbox])),
  };
};
