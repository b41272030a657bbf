import { describe, expect, it } from "vitest";
import { generatedAlpha, generatedBeta } from "../../test/support/builders/generated-versions.ts";
import { core, extensions } from "../../test/support/builders/versions.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import type { KubeObject } from "../kinds/meta.ts";
import { v1alpha1StateAnnotations } from "../rules/keys.ts";
import { withAnnotations } from "./annotations.ts";
import { answerReview } from "./conversion-review.ts";
import { allKinds, convert } from "./convert.ts";

const kinds = ["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"] as const;
type Kind = (typeof kinds)[number];
const versionsOf = (kind: Kind) => (kind === "Sandbox" ? core : extensions);
const rounds = 500;

function eachGenerated(check: (kind: Kind, seed: number) => void): void {
  for (const kind of kinds) for (let seed = 1; seed <= rounds; seed += 1) check(kind, seed);
}

/** The default policy has no annotation in the older version, so it is absent after a round trip. */
function asMeant(object: KubeObject): object {
  if (object.kind !== "SandboxTemplate") return object;
  const { spec, ...rest } = object as KubeObject & { readonly spec?: object };
  return { ...rest, spec: { volumeClaimTemplatesPolicy: "Disallowed", ...spec } };
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

describe("any object", () => {
  it("of v1alpha1 comes back from v1beta1 as it was", () => {
    eachGenerated((kind, seed) => {
      const original = generatedAlpha[kind](seededRandom(seed));
      const { alpha, beta } = versionsOf(kind);
      expect(convert(convert(original, beta), alpha), `${kind} of seed ${seed}`).toEqual(original);
    });
  });

  it("of v1alpha1 comes back unchanged after many writes and reads, and its state does not grow", () => {
    eachGenerated((kind, seed) => {
      const original = generatedAlpha[kind](seededRandom(seed));
      const { alpha, beta } = versionsOf(kind);
      const once = convert(original, beta);
      const again = convert(convert(convert(convert(once, alpha), beta), alpha), beta);
      expect(again, `${kind} of seed ${seed}`).toEqual(once);
    });
  });

  it("of v1beta1 returns from v1alpha1 with only its state added", () => {
    eachGenerated((kind, seed) => {
      const original = generatedBeta[kind](seededRandom(seed));
      const { alpha, beta } = versionsOf(kind);
      const back = convert(convert(original, alpha), beta);
      const withoutState = withAnnotations(back, { [v1alpha1StateAnnotations[kind]]: undefined });
      expect(asMeant(withoutState), `${kind} of seed ${seed}`).toEqual(asMeant(original));
    });
  });

  it("is not touched by its conversion, nor is anything in it", () => {
    eachGenerated((kind, seed) => {
      const { alpha, beta } = versionsOf(kind);
      const older: KubeObject = frozen(generatedAlpha[kind](seededRandom(seed)));
      const newer: KubeObject = frozen(generatedBeta[kind](seededRandom(seed)));
      expect(convert(older, beta)).not.toBe(older);
      expect(convert(newer, alpha)).not.toBe(newer);
    });
  });

  it("keeps all metadata but its annotations", () => {
    eachGenerated((kind, seed) => {
      const original: KubeObject = generatedAlpha[kind](seededRandom(seed));
      const { annotations: _before, ...metadata } = original.metadata;
      const { annotations: _after, ...converted } = convert(original, versionsOf(kind).beta).metadata;
      expect(converted).toEqual(metadata);
    });
  });
});

describe("a review of 5 000 objects", () => {
  it("is answered in one call, in order; each object shares unchanged parts with its source", () => {
    const objects = Array.from({ length: 5_000 }, (_, seed) => generatedAlpha.Sandbox(seededRandom(seed)));
    const review = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      request: { uid: "u", desiredAPIVersion: core.beta, objects },
    } as const;
    const { response } = JSON.parse(answerReview(review, allKinds).text);
    const converted = objects.map((object) => convert(object, core.beta));
    expect(response).toEqual({ uid: "u", convertedObjects: converted, result: { status: "Success" } });
    const blueprintOf = (object: KubeObject | undefined) =>
      (object as (typeof objects)[number] | undefined)?.spec?.podTemplate;
    expect(objects.every((object, at) => blueprintOf(converted[at]) === blueprintOf(object))).toBe(true);
  });
});
