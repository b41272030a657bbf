import type { Status } from "../api/meta.ts";

/** The API server answered, and the answer was a failure. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status code. */
  readonly code: number;
  /** Machine-readable reason of the Status, such as `Conflict` or `AlreadyExists`; empty when there was none. */
  readonly reason: string;
  readonly status: Status;

  constructor(code: number, status: Status) {
    super(status.message ?? `the API server answered ${code}`);
    this.code = code;
    this.reason = status.reason ?? "";
    this.status = status;
  }
}

/** There was no usable answer: refused, reset, timed out, or not a Kubernetes answer. */
export class ApiUnreachable extends Error {
  override readonly name = "ApiUnreachable";
}

const hasReason = (reason: string, code: number) => (error: unknown) =>
  error instanceof ApiError && (error.reason === reason || (error.reason === "" && error.code === code));

export const isNotFound = hasReason("NotFound", 404);
export const isAlreadyExists = hasReason("AlreadyExists", 409);
export const isInvalid = hasReason("Invalid", 422);
/** The resource version is too old: list again. */
export const isExpired = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 410 || error.reason === "Expired" || error.reason === "Gone");

/**
 * Refused because the namespace is being deleted, as Kubernetes' own admission marks it: nothing new is taken into it, and
 * nothing changes that.
 */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.code === 403 &&
  error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;

/** Another writer was first, or a precondition did not hold; AlreadyExists also travels as 409 and is not one. */
export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 409 && error.reason !== "AlreadyExists";
