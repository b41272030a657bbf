import { describe, expect, it } from "vitest";
import {
  aBetaClaim,
  aBetaSandbox,
  anAlphaClaim,
  anAlphaSandbox,
  anAlphaTemplate,
  core,
  extensions,
} from "../../test/support/versions.ts";
import { convertReview, NoConversionReview, parseConversionReview } from "./conversion-review.ts";
import { allKinds, coreKinds } from "./convert.ts";

const apiVersion = "apiextensions.k8s.io/v1";
const reviewOf = (objects: readonly unknown[], desiredAPIVersion: string) =>
  parseConversionReview({ apiVersion, kind: "ConversionReview", request: { uid: "u-1", desiredAPIVersion, objects } });

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
    const annotations = { "api.agents.x-k8s.io/v1beta1-volume-claim-templates-policy": "bogus" };
    const broken = { ...anAlphaTemplate(), metadata: { name: "broken", annotations } };
    const { response } = convertReview(reviewOf([anAlphaClaim(), broken], extensions.beta), allKinds);
    expect(response.convertedObjects).toEqual([]);
    expect(response.uid).toBe("u-1");
    expect(response.result).toEqual({ status: "Failed", message: expect.stringContaining("SandboxTemplate broken") });
  });

  it("does not fail for everybody because one object's v1alpha1 original cannot be read, and tells which", () => {
    const state = { "api.agents.x-k8s.io/v1alpha1-sandboxclaim-state": "{" };
    const broken = { ...aBetaClaim("p"), metadata: { name: "broken", annotations: state } };
    const ignored: string[] = [];
    const review = reviewOf([aBetaClaim("p"), broken], extensions.alpha);
    expect(convertReview(review, allKinds, ignored).response.convertedObjects).toHaveLength(2);
    expect(ignored).toEqual([expect.stringMatching(/^SandboxClaim broken: annotation .* cannot be read/)]);
  });

  it("fails for kinds that are not switched on", () => {
    const { response } = convertReview(reviewOf([anAlphaClaim()], extensions.beta), coreKinds);
    expect(response.result.status).toBe("Failed");
  });

  it("of nothing is answered with nothing", () => {
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
