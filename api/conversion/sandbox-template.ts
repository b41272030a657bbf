import { v1alpha1StateAnnotations, volumeClaimTemplatesPolicyAnnotation } from "../keys.ts";
import { type InjectionPolicy, injectionPolicies, type SandboxTemplateSpec } from "../sandbox-template.ts";
import { annotationOf, withAnnotations } from "./annotations.ts";
import { ConversionError } from "./conversion-error.ts";
import { withState } from "./state.ts";
import type { SandboxTemplateV1alpha1, Spoken } from "./v1alpha1.ts";

type SpokenTemplate = Spoken<SandboxTemplateSpec>;

const stateKey = v1alpha1StateAnnotations.SandboxTemplate;

/** @throws ConversionError when the policy annotation holds none of the policies. */
export function templateToV1beta1(source: SandboxTemplateV1alpha1): SpokenTemplate {
  const volumeClaimTemplatesPolicy = readPolicy(source);
  const converted: SpokenTemplate = {
    ...source,
    spec: { ...source.spec, ...(volumeClaimTemplatesPolicy && { volumeClaimTemplatesPolicy }) },
  };
  return withState(withAnnotations(converted, { [volumeClaimTemplatesPolicyAnnotation]: undefined }), source, stateKey);
}

/** The policy travels in an annotation; without a policy an old annotation goes, or it would come back as one. */
export function templateToV1alpha1({ spec, ...object }: SpokenTemplate): SandboxTemplateV1alpha1 {
  const { volumeClaimTemplatesPolicy, ...shared } = spec ?? {};
  return withAnnotations(
    { ...object, spec: shared },
    { [volumeClaimTemplatesPolicyAnnotation]: volumeClaimTemplatesPolicy || undefined, [stateKey]: undefined },
  );
}

function readPolicy(source: SandboxTemplateV1alpha1): InjectionPolicy | undefined {
  const text = annotationOf(source, volumeClaimTemplatesPolicyAnnotation);
  if (text === undefined) return undefined;
  const policy = injectionPolicies.find((known) => known === text);
  if (policy) return policy;
  const known = injectionPolicies.join(", ");
  throw new ConversionError(
    "InvalidPolicy",
    `invalid VolumeClaimTemplatesPolicy annotation value ${JSON.stringify(text)}: it is none of ${known}`,
  );
}
