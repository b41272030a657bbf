import type { VolumeClaimTemplate } from "../../../api/kinds/sandbox.ts";
import { ownershipOf } from "../../ownership.ts";
import type { Action } from "../actions.ts";
import { adoptedBy, isAdoptable, refusalToAdopt } from "../adoption.ts";
import type { Observed } from "../observed.ts";
import { claimName, makeVolumeClaim } from "./make-volume-claim.ts";

/** One PersistentVolumeClaim for each template, in their order. What a claim says once it is ours is never changed. */
export function decideVolumeClaims(observed: Observed): readonly Action[] {
  return (observed.sandbox.spec.volumeClaimTemplates ?? []).flatMap((template) => decideClaim(template, observed));
}

function decideClaim(template: VolumeClaimTemplate, { sandbox, claims }: Observed): readonly Action[] {
  const claim = claims.get(claimName(template, sandbox));
  if (!claim) return [{ do: "createClaim", claim: makeVolumeClaim(template, sandbox) }];
  const ownership = ownershipOf(claim, sandbox);
  if (ownership === "owned") return [];
  if (ownership === "unowned" && isAdoptable(claim, sandbox)) {
    return [{ do: "adoptClaim", claim, patch: { metadata: adoptedBy(sandbox, claim) } }];
  }
  return [{ do: "refuse", part: "claims", why: refusalToAdopt("PersistentVolumeClaim", claim), untilChanged: false }];
}
