import type { VolumeClaimTemplate } from "../../../api/kinds/sandbox.ts";
import { ownershipOf } from "../../ownership.ts";
import { type Action, writesToManyMax } from "../actions.ts";
import { adoptedBy, isAdoptable, refusalToAdopt } from "../adoption.ts";
import type { Observed } from "../observed.ts";
import { claimName, hasTooManyClaims, makeVolumeClaim, volumeClaimsMax } from "./make-volume-claim.ts";

/**
 * One PersistentVolumeClaim for each template, in their order. What a claim says once it is ours is never changed.
 *
 * Each claim that a Pod must not mount gets an action, and a Pod starts only when all of these are done. So a claim that
 * is being deleted is refused if a Pod is to start. A Pod that runs keeps such a claim, and its sandbox is not in error.
 *
 * There are at most so many actions as a pass carries out, and one more if there is more to do: it is left undone, so no Pod starts.
 */
export function decideVolumeClaims(observed: Observed, startsPod: boolean): readonly Action[] {
  const { sandbox } = observed;
  const templates = sandbox.spec.volumeClaimTemplates ?? [];
  if (hasTooManyClaims(sandbox)) return [{ ...refuse(tooMany(templates.length)), untilChanged: true }];
  const actions: Action[] = [];
  for (const template of templates) {
    if (actions.length > writesToManyMax) break;
    actions.push(...decideClaim(template, observed, startsPod));
  }
  return actions;
}

const tooMany = (count: number): string =>
  `the Sandbox has ${count} volumeClaimTemplates, and may have at most ${volumeClaimsMax}`;

function decideClaim(
  template: VolumeClaimTemplate,
  { sandbox, claims }: Observed,
  startsPod: boolean,
): readonly Action[] {
  const name = claimName(template, sandbox);
  const claim = claims.get(name);
  if (!claim) return [{ do: "createClaim", claim: makeVolumeClaim(template, sandbox) }];
  const ownership = ownershipOf(claim, sandbox);
  const isOurs = ownership === "owned" || (ownership === "unowned" && isAdoptable(claim, sandbox));
  if (!isOurs) return [refuse(refusalToAdopt("PersistentVolumeClaim", claim))];
  if (claim.metadata.deletionTimestamp) {
    return startsPod ? [refuse(`PersistentVolumeClaim ${name} is being deleted`)] : [];
  }
  return ownership === "owned" ? [] : [{ do: "adoptClaim", claim, patch: { metadata: adoptedBy(sandbox, claim) } }];
}

const refuse = (why: string): Extract<Action, { do: "refuse" }> => ({
  do: "refuse",
  part: "claims",
  why,
  untilChanged: false,
});
