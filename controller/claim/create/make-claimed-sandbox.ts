import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { type SandboxClaim, sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplate } from "../../../api/kinds/sandbox-template.ts";
import { claimedSandboxName } from "../../../api/rules/claimed-sandbox-name.ts";
import { launchTypeLabel, traceContextAnnotation } from "../../../api/rules/keys.ts";
import { nameHash } from "../../../api/rules/names.ts";
import { currentBlueprint } from "../../blueprint/current-blueprint.ts";
import { makeSandbox } from "../../blueprint/make-sandbox.ts";
import { controllerReference } from "../../ownership.ts";
import { contextToCopy } from "../../traces.ts";
import { claimedPodMetadata, claimLabels } from "./claimed-pod-metadata.ts";
import { injectEnv } from "./inject-env.ts";
import { mergeVolumeClaims } from "./merge-volume-claims.ts";

/**
 * A new Sandbox for a claim that gets no pool member.
 *
 * @throws ClaimProblem and Error for fields of the claim that the template does not allow: volumes, metadata,
 *   variables, checked in this order.
 */
export function makeClaimedSandbox(template: Stored<SandboxTemplate>, claim: Stored<SandboxClaim>): Sandbox {
  const volumeClaimTemplates = mergeVolumeClaims(template.spec, claim.spec);
  const pod = claimedPodMetadata(template.spec.podTemplate, claim, nameHash(template.metadata.name));
  const current = currentBlueprint(template);
  const podSpec = injectEnv(current.podSpec, template.spec, claim.spec);
  const traceContext = contextToCopy(claim);
  return makeSandbox(
    template,
    { ...current, podSpec, volumeClaimTemplates },
    {
      owner: controllerReference(sandboxClaimType, claim),
      named: { name: claimedSandboxName(claim.metadata) },
      labels: { ...claimLabels(claim), [launchTypeLabel]: "cold" },
      ...(traceContext && { annotations: { [traceContextAnnotation]: traceContext } }),
      podLabels: pod.labels,
      podAnnotations: pod.annotations,
    },
  );
}
