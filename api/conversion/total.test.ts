import { describe, expect, it } from "vitest";
import { generatedAlpha, generatedBeta } from "../../test/support/builders/generated-versions.ts";
import { core, extensions } from "../../test/support/builders/versions.ts";
import { refusalsOf } from "../../test/support/conversion-outcome.ts";
import { type SeededRandom, seededRandom } from "../../test/support/seeded-random.ts";
import type { KubeObject } from "../kinds/meta.ts";
import { annotationBytes, annotationBytesMax } from "../rules/annotation-limit.ts";
import { v1alpha1StateAnnotations, volumeClaimTemplatesPolicyAnnotation } from "../rules/keys.ts";
import { withAnnotations } from "./annotations.ts";
import { allKinds, convert } from "./convert.ts";

const kinds = ["Sandbox", "SandboxClaim", "SandboxTemplate", "SandboxWarmPool"] as const;
type Kind = (typeof kinds)[number];
const versionsOf = (kind: Kind) => (kind === "Sandbox" ? core : extensions);

const subjects = kinds.flatMap((kind) => {
  const { alpha, beta } = versionsOf(kind);
  return [
    { kind, make: (random: SeededRandom): KubeObject => generatedAlpha[kind](random), from: alpha, to: beta },
    { kind, make: (random: SeededRandom): KubeObject => generatedBeta[kind](random), from: beta, to: alpha },
  ];
});

// A conversion adds some tens to some hundreds of bytes; the old form doubled the object.
const bytesLeft = [0, 1, 2, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 250, 300, 400, 1_000, 130_000, 262_000];
// One of one byte, and some that are longer in JSON or UTF-8.
const letters = ["x", '"', "\n", "\\", "ü", "\u2028", "😀"];

/** The object with annotations that leave this number of bytes under the limit. */
function filledUp(object: KubeObject, left: number, letter: string): KubeObject {
  const had = annotationBytes(object.metadata.annotations ?? {});
  const key = "example.com/filler";
  const bytes = annotationBytesMax - left - had - key.length;
  if (bytes < 0) return object;
  const many = Math.floor(bytes / Buffer.byteLength(letter));
  const filler = letter.repeat(many) + "x".repeat(bytes - many * Buffer.byteLength(letter));
  return withAnnotations(object, { [key]: filler });
}

const labels = Object.fromEntries(
  Array.from({ length: 200 }, (_, at) => [`${"a".repeat(63)}.example.com/${"n".repeat(50)}-${at}`, "v".repeat(63)]),
);
const managedFields = [
  { manager: "kubectl", operation: "Apply", fieldsV1: { "f:spec": { "f:x": "y".repeat(400_000) } } },
];

const own: readonly string[] = [...Object.values(v1alpha1StateAnnotations), volumeClaimTemplatesPolicyAnnotation];
const strangers = ({ metadata: { annotations = {} } }: KubeObject) =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !own.includes(key)));
const withoutOurs = (object: KubeObject) =>
  withAnnotations(object, Object.fromEntries(own.map((key) => [key, undefined])));

interface Sized {
  readonly what: string;
  readonly object: KubeObject;
}

function* sized(make: (random: SeededRandom) => KubeObject): Iterable<Sized> {
  for (const left of bytesLeft) {
    for (let seed = 1; seed <= 4; seed += 1) {
      const random = seededRandom(seed * 1_000 + left);
      const letter = random.oneOf(letters);
      const object = filledUp(make(random), left, letter);
      const what = `seed ${seed}, ${left} bytes left, of ${JSON.stringify(letter)}`;
      yield { what, object };
      yield { what: `${what}, many labels`, object: { ...object, metadata: { ...object.metadata, labels } } };
      yield { what: `${what}, managed fields`, object: { ...object, metadata: { ...object.metadata, managedFields } } };
    }
  }
}

/** The default has no annotation in the older version, so it is absent after a round trip. */
function asMeant(object: KubeObject): object {
  if (object.kind !== "SandboxTemplate") return object;
  const { spec, ...rest } = object as KubeObject & { readonly spec?: { readonly volumeClaimTemplatesPolicy?: string } };
  return { ...rest, spec: { volumeClaimTemplatesPolicy: "Disallowed", ...spec } };
}

describe.each(subjects)("any $kind of $from", ({ kind, make, from, to }) => {
  it("is accepted by the API server after conversion and back, with metadata of any size", () => {
    for (const { what, object } of sized(make)) {
      const converted = convert(object, to);
      expect(refusalsOf(object, converted, to), what).toEqual([]);
      expect(refusalsOf(converted, convert(converted, from), from), what).toEqual([]);
      expect(strangers(converted), what).toEqual(strangers(object));
    }
  });

  it("loses no field if the state fits, and otherwise only the fields that the other version lacks", () => {
    let whole = 0;
    for (const { what, object } of sized(make)) {
      const leftOut: string[] = [];
      const converted = convert(object, to, allKinds, leftOut);
      const back = withAnnotations(convert(converted, from), { [v1alpha1StateAnnotations[kind]]: undefined });
      const reference = leftOut.length === 0 ? object : convert(withoutOurs(converted), from);
      const { metadata: _metadata, ...fields } = asMeant(back) as KubeObject;
      const { metadata: _expected, ...expected } = asMeant(reference) as KubeObject;
      expect(fields, what).toEqual(expected);
      if (leftOut.length > 0) continue;
      expect(back.metadata, what).toEqual(object.metadata);
      whole += 1;
    }
    expect(whole).toBeGreaterThan(30);
  });

  it("grows by at most 400 bytes, for any spec", () => {
    const longTexts = { shutdownTime: "2099-01-01T00:00:00Z", podTemplate: { spec: { note: "n".repeat(1_000_000) } } };
    for (let seed = 1; seed <= 50; seed += 1) {
      const made = make(seededRandom(seed)) as KubeObject & { readonly spec: object };
      const object = { ...made, spec: { ...made.spec, ...longTexts } };
      const added =
        annotationBytes(convert(object, to).metadata.annotations ?? {}) -
        annotationBytes(made.metadata.annotations ?? {});
      expect(added, `seed ${seed}`).toBeLessThan(400);
    }
  });
});

describe("an object with its whole original in an annotation, as older releases stored it", () => {
  it.each(kinds)("comes back as it was written (%s)", (kind) => {
    const { alpha, beta } = versionsOf(kind);
    for (let seed = 1; seed <= 200; seed += 1) {
      const original: KubeObject = generatedAlpha[kind](seededRandom(seed));
      const state = { [v1alpha1StateAnnotations[kind]]: JSON.stringify(original) };
      const stored = withAnnotations(convert(original, beta), state);
      expect(asMeant(convert(stored, alpha)), `seed ${seed}`).toEqual(asMeant(original));
    }
  });

  it.each(kinds)("is accepted by the API server if the state alone fills the limit (%s)", (kind) => {
    const { alpha, beta } = versionsOf(kind);
    const key = v1alpha1StateAnnotations[kind];
    for (const left of [0, 1, 100]) {
      const bytes = annotationBytesMax - left - key.length;
      const text = JSON.stringify({ spec: { filler: "" } });
      const state = text.replace('""', JSON.stringify("x".repeat(bytes - text.length)));
      const stored: KubeObject = withAnnotations(withoutOurs(generatedBeta[kind](seededRandom(7))), { [key]: state });
      const { "example.com/note": _note, ...rest } = stored.metadata.annotations ?? {};
      const object = { ...stored, metadata: { ...stored.metadata, annotations: rest } };
      expect(refusalsOf(object, convert(object, alpha), alpha)).toEqual([]);
      expect(refusalsOf(object, convert(convert(object, alpha), beta), beta)).toEqual([]);
    }
  });
});

describe("an object beside which a tenant wrote anything", () => {
  const paths = [
    '{"spec":{"replicas":?}}',
    '{"status":{"replicas":?}}',
    '{"spec":{"sandboxTemplateRef":?}}',
    '{"spec":{"sandboxTemplateRef":{"name":?}}}',
    '{"spec":{"sandboxTemplateRef":{"name":"t","x":?}}}',
    '{"spec":{"warmpool":?}}',
    '{"spec":{"warmpool":"w","sandboxTemplateRef":{"name":"t"},"x":?},"metadata":?}',
    `{"metadata":{"annotations":{"${volumeClaimTemplatesPolicyAnnotation}":?}}}`,
    '{"__proto__":?,"spec":{"__proto__":?,"toJSON":?}}',
  ];
  const deep = (depth: number) => [
    "[".repeat(depth) + "]".repeat(depth),
    `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
    `{"name":"t","x":${"[".repeat(depth)}${"]".repeat(depth)}}`,
  ];
  const scalars = ["1.5", "1e300", "1e999", "-3", "-0", "2147483648", "9223372036854775807", "0", "1", "true", "null"];
  const values = [...scalars, '""', '"t"', '"\\ud800"', "[]", "{}", ...[10, 4_000, 9_000, 20_000].flatMap(deep)];

  it.each(kinds)("has in v1alpha1 only strings and integers of its state (%s)", (kind) => {
    const { alpha, beta } = versionsOf(kind);
    for (const path of paths) {
      for (const value of values) {
        const what = `${path} with ${value.slice(0, 40)}`;
        const state = { [v1alpha1StateAnnotations[kind]]: path.replaceAll("?", value) };
        const stored = withAnnotations(withoutOurs(generatedBeta[kind](seededRandom(11))), state);
        const converted = convert(stored, alpha);
        expect(() => JSON.stringify(converted), what).not.toThrow();
        expect(refusalsOf(stored, converted, alpha), what).toEqual([]);
        expect(oddIn(converted), what).toEqual([]);
        expect(refusalsOf(converted, convert(converted, beta), beta), what).toEqual([]);
      }
    }
  });

  /** The fields of a state that are read, with values that the schema of `v1alpha1` does not allow. */
  function oddIn({ spec = {}, status = {} }: KubeObject & { readonly spec?: Any; readonly status?: Any }): string[] {
    const replicas = [spec["replicas"] ?? 0, status["replicas"] ?? 0];
    const { name, ...more } = (spec["sandboxTemplateRef"] ?? { name: "" }) as Any;
    return [
      ...(replicas.every((count) => count === 0 || count === 1 || count === ((count as number) | 0))
        ? []
        : ["replicas"]),
      ...(replicas.every((count) => (count as number) >= 0) ? [] : ["negative replicas"]),
      ...(typeof name === "string" && Object.keys(more).length === 0 ? [] : ["sandboxTemplateRef"]),
      ...(typeof (spec["warmpool"] ?? "") === "string" ? [] : ["warmpool"]),
    ];
  }

  type Any = Readonly<Record<string, unknown>>;
});
