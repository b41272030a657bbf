import type { KubeObject } from "../meta.ts";
import { ConversionError } from "./conversion-error.ts";
import { type ConvertibleKind, convert } from "./convert.ts";
import { isFields } from "./fields.ts";

/** What an API server asks of a conversion webhook (`apiextensions.k8s.io`), as far as it is looked at here. */
export interface ConversionRequest {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly unknown[];
}

export interface ConversionReview {
  readonly apiVersion: string;
  readonly kind: "ConversionReview";
  readonly request: ConversionRequest;
}

export interface ConversionAnswer {
  readonly apiVersion: string;
  readonly kind: "ConversionReview";
  readonly response: {
    readonly uid: string;
    /** In the order of the request; none when one of them failed. */
    readonly convertedObjects: readonly KubeObject[];
    readonly result: { readonly status: "Success" } | { readonly status: "Failed"; readonly message: string };
  };
}

/** The body of a request is no ConversionReview: there is no one to answer, for there is no uid. */
export class NoConversionReview extends Error {
  override readonly name = "NoConversionReview";
}

/** @throws NoConversionReview when a value is none. */
export function parseConversionReview(value: unknown): ConversionReview {
  const review = isFields(value) ? value : {};
  const { apiVersion, kind } = review;
  const request = isFields(review["request"]) ? review["request"] : {};
  const { uid, desiredAPIVersion, objects } = request;
  if (kind !== "ConversionReview" || !isReviewVersion(apiVersion)) {
    throw new NoConversionReview("the body is no ConversionReview of apiextensions.k8s.io/v1 or v1beta1");
  }
  if (typeof uid !== "string" || typeof desiredAPIVersion !== "string" || !Array.isArray(objects)) {
    throw new NoConversionReview("the ConversionReview needs a request with uid, desiredAPIVersion and objects");
  }
  return { apiVersion, kind, request: { uid, desiredAPIVersion, objects } };
}

// Both look the same, and definitions in the field allow both.
const isReviewVersion = (version: unknown): version is string =>
  version === "apiextensions.k8s.io/v1" || version === "apiextensions.k8s.io/v1beta1";

/**
 * Converts all objects of a review, or says why one of them cannot be: then the server gets none of them. What could not
 * be read, and was taken for absent, is added to `ignored`.
 */
export function convertReview(
  { apiVersion, kind, request: { uid, desiredAPIVersion, objects } }: ConversionReview,
  kinds: readonly ConvertibleKind[],
  ignored: string[] = [],
): ConversionAnswer {
  try {
    const convertedObjects = objects.map((object) => convert(object, desiredAPIVersion, kinds, ignored));
    return { apiVersion, kind, response: { uid, convertedObjects, result: { status: "Success" } } };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    return {
      apiVersion,
      kind,
      response: { uid, convertedObjects: [], result: { status: "Failed", message: error.message } },
    };
  }
}
