import { ConversionError } from "./conversion-error.ts";
import { type ConvertibleKind, convertToText } from "./convert.ts";
import { isFields } from "./fields.ts";

/** The fields of an API server's conversion request (`apiextensions.k8s.io`) that are used here. */
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

/** The body of a request is not a ConversionReview. It cannot be answered, because it has no uid. */
export class NoConversionReview extends Error {
  override readonly name = "NoConversionReview";
}

/** @throws NoConversionReview for any other value. */
export function parseConversionReview(value: unknown): ConversionReview {
  const review = isFields(value) ? value : {};
  const { apiVersion, kind } = review;
  const request = isFields(review["request"]) ? review["request"] : {};
  const { uid, desiredAPIVersion, objects } = request;
  if (kind !== "ConversionReview" || !isReviewVersion(apiVersion)) {
    throw new NoConversionReview("the body is not a ConversionReview of apiextensions.k8s.io/v1 or v1beta1");
  }
  if (typeof uid !== "string" || typeof desiredAPIVersion !== "string" || !Array.isArray(objects)) {
    throw new NoConversionReview("the ConversionReview needs a request with uid, desiredAPIVersion and objects");
  }
  return { apiVersion, kind, request: { uid, desiredAPIVersion, objects } };
}

// Both versions have the same fields, and installed definitions allow both.
const isReviewVersion = (version: unknown): version is string =>
  version === "apiextensions.k8s.io/v1" || version === "apiextensions.k8s.io/v1beta1";

export interface ReviewAnswer {
  /** JSON. */
  readonly text: string;
  /** The reason why it contains no objects. */
  readonly failure?: string;
}

/**
 * The answer to a review: all converted objects in their order, or the reason why one of them cannot be converted; then
 * the server gets none of them. Data that cannot be parsed or does not fit counts as absent and is added to `ignored`.
 * Each object is written separately, so that an error has its name.
 */
export function answerReview(
  { apiVersion, kind, request: { uid, desiredAPIVersion, objects } }: ConversionReview,
  kinds: readonly ConvertibleKind[],
  ignored: string[] = [],
): ReviewAnswer {
  const answer = (converted: string, result: object): string =>
    `{"apiVersion":${JSON.stringify(apiVersion)},"kind":"${kind}","response":{"uid":${JSON.stringify(uid)},` +
    `"convertedObjects":[${converted}],"result":${JSON.stringify(result)}}}`;
  try {
    const texts = objects.map((object) => convertToText(object, desiredAPIVersion, kinds, ignored));
    return { text: answer(texts.join(","), { status: "Success" }) };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    return { text: answer("", { status: "Failed", message: error.message }), failure: error.message };
  }
}
