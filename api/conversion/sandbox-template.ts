import { type InjectionPolicy, injectionPolicies, type SandboxTemplateSpec } from "../kinds/sandbox-template.ts";
import { effectiveVolumeClaimTemplatesPolicy } from "../rules/defaults.ts";
import { volumeClaimTemplatesPolicyAnnotation as policyKey, v1alpha1StateAnnotations } from "../rules/keys.ts";
import { annotationOf, withAnnotations, withAnnotationThatFits } from "./annotations.ts";
import { readState, type State, UnreadableState, withoutState, withState } from "./state.ts";
import type { SandboxTemplateV1alpha1, Spoken } from "./v1alpha1.ts";

type SpokenTemplate = Spoken<SandboxTemplateSpec>;

const stateKey = v1alpha1StateAnnotations.SandboxTemplate;
const reportedTextMax = 64;

/**
 * A policy annotation with an unknown value counts as absent, so the default applies, which allows nothing; it is added
 * to `ignored`. An annotation that means the same as its absence is kept in the state.
 */
export function templateToV1beta1(source: SandboxTemplateV1alpha1, ignored: string[]): SpokenTemplate {
  const text = annotationOf(source, policyKey);
  const volumeClaimTemplatesPolicy = policyOf(text);
  if (text !== undefined && !volumeClaimTemplatesPolicy) ignored.push(unknownPolicy(text));
  const converted: SpokenTemplate = withAnnotations(
    { ...source, spec: { ...source.spec, ...(volumeClaimTemplatesPolicy && { volumeClaimTemplatesPolicy }) } },
    { [policyKey]: undefined, [stateKey]: undefined },
  );
  if (text === undefined || effective(volumeClaimTemplatesPolicy) !== whereAbsent) return converted;
  return withState(converted, { metadata: { annotations: { [policyKey]: text } } }, stateKey, ignored);
}

/**
 * A policy other than the default is stored in an annotation. For the default an old annotation is removed; otherwise
 * it would become a policy again. The original annotation is restored while it still means the same.
 */
export function templateToV1alpha1(source: SpokenTemplate, ignored: string[]): SandboxTemplateV1alpha1 {
  const { spec, ...object } = source;
  const { volumeClaimTemplatesPolicy, ...shared } = spec ?? {};
  const policy = effective(volumeClaimTemplatesPolicy);
  const written = readState(source, stateKey, policyTextIn, ignored);
  const converted = withAnnotations(withoutState({ ...object, spec: shared }, stateKey), { [policyKey]: undefined });
  const value = written !== undefined && effective(policyOf(written)) === policy ? written : textOf(policy);
  return value === undefined ? converted : withAnnotationThatFits(converted, { key: policyKey, value }, ignored);
}

const policyOf = (text: string | undefined): InjectionPolicy | undefined =>
  injectionPolicies.find((known) => known === text);

const effective = (volumeClaimTemplatesPolicy: InjectionPolicy | undefined): InjectionPolicy =>
  effectiveVolumeClaimTemplatesPolicy(volumeClaimTemplatesPolicy ? { volumeClaimTemplatesPolicy } : {});
const whereAbsent = effective(undefined);

const textOf = (policy: InjectionPolicy): string | undefined => (policy === whereAbsent ? undefined : policy);

const unknownPolicy = (text: string): string =>
  `annotation ${policyKey} counts as absent: ${JSON.stringify(text.slice(0, reportedTextMax))} is none of ${injectionPolicies.join(", ")}`;

function policyTextIn({ annotations: { [policyKey]: text } }: State): string | undefined {
  if (text === undefined || typeof text === "string") return text;
  throw new UnreadableState("its policy is not a string");
}
