import { describe, expect, it } from "vitest";
import {
  aBetaClaim,
  aBetaSandbox,
  anAlphaClaim,
  anAlphaSandbox,
  anAlphaTemplate,
  core,
  extensions,
} from "../../test/support/builders/versions.ts";
import type { KubeObject } from "../kinds/meta.ts";
import { answerReview, NoConversionReview, parseConversionReview } from "./conversion-review.ts";
import { allKinds } from "./convert.ts";

const apiVersion = "apiextensions.k8s.io/v1";
const reviewOf = (objects: readonly unknown[], desiredAPIVersion: string) =>
  parseConversionReview({ apiVersion, kind: "ConversionReview", request: { uid: "u-1", desiredAPIVersion, objects } });

const convertReview = (...asked: Parameters<typeof answerReview>): Answer => JSON.parse(answerReview(...asked).text);

interface Answer {
  readonly response: {
    readonly uid: string;
    readonly convertedObjects: readonly KubeObject[];
    readonly result: { readonly status: string; readonly message?: string };
  };
}

/** Nested lists: JSON that V8 parses at any depth, but cannot write beyond some thousands of levels. */
const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);

describe("a conversion review", () => {
  it("is answered under its own uid with all objects in their order", () => {
    const objects = ["c", "a", "b"].map((name) => ({ ...anAlphaSandbox(), metadata: { name } }));
    const answer = convertReview(reviewOf(objects, core.beta), allKinds);
    expect(answer).toMatchObject({
      apiVersion,
      kind: "ConversionReview",
      response: { uid: "u-1", result: { status: "Success" } },
    });
    expect(answer.response.convertedObjects.map((object) => [object.apiVersion, object.metadata.name])).toEqual([
      [core.beta, "c"],
      [core.beta, "a"],
      [core.beta, "b"],
    ]);
  });

  it("of the version that the objects have is answered with the same objects", () => {
    const objects = [aBetaSandbox(), aBetaSandbox()];
    expect(convertReview(reviewOf(objects, core.beta), allKinds).response.convertedObjects).toEqual(objects);
  });

  it("of objects of both versions converts those that need it", () => {
    const answer = convertReview(reviewOf([anAlphaSandbox(), aBetaSandbox()], core.alpha), allKinds);
    expect(answer.response.convertedObjects.map((object) => object.apiVersion)).toEqual([core.alpha, core.alpha]);
  });

  it("fails as a whole, with a reason, when one object cannot be converted", () => {
    const broken = { ...anAlphaTemplate(), metadata: { name: "broken" }, spec: "no object" };
    const { response } = convertReview(reviewOf([anAlphaClaim(), broken], extensions.beta), allKinds);
    expect(response.convertedObjects).toEqual([]);
    expect(response.uid).toBe("u-1");
    expect(response.result).toEqual({ status: "Failed", message: expect.stringContaining("SandboxTemplate broken") });
  });

  it("does not fail for one object's unreadable v1alpha1 original, and reports its name", () => {
    const state = { "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state": "{" };
    const broken = { ...aBetaClaim("p"), metadata: { name: "broken", annotations: state } };
    const ignored: string[] = [];
    const review = reviewOf([aBetaClaim("p"), broken], extensions.alpha);
    expect(convertReview(review, allKinds, ignored).response.convertedObjects).toHaveLength(2);
    expect(ignored).toEqual([expect.stringMatching(/^SandboxClaim broken: annotation .* cannot be read/)]);
  });

  it("does not fail for one object's unknown policy annotation, and reports its name", () => {
    const annotations = { "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy": "bogus" };
    const broken = { ...anAlphaTemplate(), metadata: { name: "broken", annotations } };
    const ignored: string[] = [];
    const review = reviewOf([anAlphaClaim(), broken], extensions.beta);
    expect(convertReview(review, allKinds, ignored).response.convertedObjects).toHaveLength(2);
    expect(ignored).toEqual([
      expect.stringMatching(/^SandboxTemplate broken: annotation .* counts as absent: "bogus"/),
    ]);
  });

  it("does not fail for values that a tenant hid in one claim's annotation", () => {
    const deep = `${"[".repeat(9_000)}${"]".repeat(9_000)}`;
    const state = `{"spec":{"sandboxTemplateRef":{"name":"t","x":${deep}},"warmpool":"p"}}`;
    const annotations = { "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state": state };
    const claim = { ...aBetaClaim("p"), metadata: { name: "hidden", annotations } };
    const { convertedObjects } = convertReview(reviewOf([aBetaClaim("p"), claim], extensions.alpha), allKinds).response;
    expect(convertedObjects[1]).toMatchObject({ spec: { sandboxTemplateRef: { name: "t" }, warmpool: "p" } });
    expect(JSON.stringify(convertedObjects)).not.toContain("[[");
  });

  it("names the one object that cannot be written", () => {
    const deep = { ...aBetaSandbox(), metadata: { name: "deep", namespace: "lab" }, spec: { x: nested(100_000) } };
    const { response } = convertReview(reviewOf([aBetaSandbox(), deep], core.alpha), allKinds);
    expect(response.result).toEqual({ status: "Failed", message: expect.stringMatching(/^Sandbox lab\/deep: cannot/) });
  });

  it("leaves out a state that fails the conversion, and reports the object's name", () => {
    const sandboxKind = allKinds.find(({ kind }) => kind === "Sandbox");
    const state = { "api.agents.x-k8s.io/v1alpha1-sandbox-state": "{}" };
    const failing = allKinds.map((known) => ({
      ...known,
      toV1alpha1: (object: KubeObject, ignored: string[]) => {
        if (object.metadata.annotations) throw new TypeError("this state is too odd");
        return sandboxKind?.toV1alpha1(object, ignored) ?? object;
      },
    }));
    const odd = { ...aBetaSandbox(), metadata: { name: "odd", namespace: "lab", annotations: state } };
    const ignored: string[] = [];
    const { response } = convertReview(reviewOf([aBetaSandbox(), odd], core.alpha), failing, ignored);
    expect(response.convertedObjects.map(({ metadata }) => metadata.name)).toEqual(["nova", "odd"]);
    expect(ignored).toEqual([expect.stringMatching(/^Sandbox lab\/odd: annotation .* is left out: the object cannot/)]);
  });

  it("fails for kinds of others", () => {
    const another = { ...anAlphaClaim(), kind: "SandboxClass" };
    const { response } = convertReview(reviewOf([another], extensions.beta), allKinds);
    expect(response.result.status).toBe("Failed");
  });

  it("without objects gets a response without objects", () => {
    expect(convertReview(reviewOf([], core.beta), allKinds).response).toEqual({
      uid: "u-1",
      convertedObjects: [],
      result: { status: "Success" },
    });
  });

  it.each([
    undefined,
    [],
    { apiVersion, kind: "AdmissionReview", request: { uid: "u", desiredAPIVersion: core.beta, objects: [] } },
    { apiVersion: "v1", kind: "ConversionReview", request: { uid: "u", desiredAPIVersion: core.beta, objects: [] } },
    { apiVersion, kind: "ConversionReview" },
    { apiVersion, kind: "ConversionReview", request: { desiredAPIVersion: core.beta, objects: [] } },
    { apiVersion, kind: "ConversionReview", request: { uid: "u", desiredAPIVersion: core.beta, objects: {} } },
  ])("is not %j", (value) => {
    expect(() => parseConversionReview(value)).toThrow(NoConversionReview);
  });
});
