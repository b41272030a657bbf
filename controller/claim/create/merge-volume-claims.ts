import type { VolumeClaimTemplate } from "../../../api/kinds/sandbox.ts";
import type { SandboxClaimSpec } from "../../../api/kinds/sandbox-claim.ts";
import type { SandboxTemplateSpec } from "../../../api/kinds/sandbox-template.ts";
import { effectiveVolumeClaimTemplatesPolicy } from "../../../api/rules/defaults.ts";
import { ClaimProblem } from "../claim-problem.ts";

/**
 * The volume claim templates of a claim's Sandbox: the template's, with the claim's added or replacing those of the
 * same name, as the template allows. In a Pod a volume claim replaces a volume of the same name, so under `Allowed` the
 * names of the template's Pod volumes are taken as well.
 *
 * @throws ClaimProblem when the template does not allow it, or when a name is missing or used twice.
 */
export function mergeVolumeClaims(
  template: Pick<SandboxTemplateSpec, "podTemplate" | "volumeClaimTemplates" | "volumeClaimTemplatesPolicy">,
  claim: Pick<SandboxClaimSpec, "volumeClaimTemplates">,
): readonly VolumeClaimTemplate[] {
  const { volumeClaimTemplates: given = [] } = template;
  const { volumeClaimTemplates: asked = [] } = claim;
  const policy = effectiveVolumeClaimTemplatesPolicy(template);
  if (asked.length > 0 && policy === "Disallowed") {
    throw rejected("the SandboxTemplate does not allow a claim to bring volumeClaimTemplates");
  }
  const givenNames = distinctNames(given, "SandboxTemplate");
  const askedByName = new Map(asked.map((template) => [nameOf(template), template]));
  const podVolumes = new Set((template.podTemplate?.spec?.volumes ?? []).map(({ name }) => name));
  const shared = [...distinctNames(asked, "SandboxClaim")].filter(
    (name) => givenNames.has(name) || podVolumes.has(name),
  );
  if (shared.length > 0 && policy !== "Overrides") {
    throw rejected(`the SandboxTemplate does not allow a claim to override its volumes: ${shared.join(", ")}`);
  }
  return [
    ...given.map((template) => askedByName.get(nameOf(template)) ?? template),
    ...asked.filter((template) => !givenNames.has(nameOf(template))),
  ];
}

const nameOf = ({ metadata }: VolumeClaimTemplate): string => metadata?.name ?? "";

function distinctNames(templates: readonly VolumeClaimTemplate[], whose: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const name of templates.map(nameOf)) {
    if (name === "") throw rejected(`a volumeClaimTemplate of the ${whose} has no name`);
    if (names.has(name)) throw rejected(`two volumeClaimTemplates of the ${whose} are called ${name}`);
    names.add(name);
  }
  return names;
}

const rejected = (message: string) => new ClaimProblem("VolumeClaimTemplatesError", message);
