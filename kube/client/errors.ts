import type { Status } from "../../api/kinds/meta.ts";
import { ownText } from "../../lib/data/own-text.ts";

/** Longer than any condition or event may be, which the message becomes a part of. */
const messageCharactersMax = 65_536;

/**
 * The API server answered with an error. A message quotes what was rejected, so a tenant decides its length. What keeps a part of it keeps
 * no more than these characters.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status code. */
  readonly code: number;
  /** Machine-readable reason of the Status, such as `Conflict` or `AlreadyExists`; empty if absent. */
  readonly reason: string;
  readonly status: Status;

  constructor(code: number, status: Status) {
    const { message = `the API server answered ${code}` } = status;
    super(message.length > messageCharactersMax ? ownText(message.slice(0, messageCharactersMax)) : message);
    this.code = code;
    this.reason = status.reason ?? "";
    this.status = status.message === undefined ? status : { ...status, message: this.message };
  }
}

/**
 * The API server accepted a write, and its answer does not show what was written: an admission policy or webhook has changed it. It will
 * most likely do so again, so this counts as rejected.
 */
export class NotKept extends ApiError {
  /** `field`: as `metadata.labels.NAME`. */
  constructor(field: string) {
    const message = `the API server accepted the write without ${field}, which an admission policy or webhook must have changed`;
    super(422, { apiVersion: "v1", kind: "Status", reason: "NotKept", message });
  }
}

/** There was no usable response: refused, reset, timed out, or not from a Kubernetes API. */
export class ApiUnreachable extends Error {
  override readonly name = "ApiUnreachable";
}

/**
 * The API server does not serve this kind in this version. That says nothing about the objects: they may be served in another version, or
 * again in a moment. So no caller takes it for a missing object.
 */
export class NotServed extends ApiUnreachable {}

/** The object that was to be sent cannot be encoded, as one that is nested too deeply. Nothing was sent. */
export class NotEncodable extends Error {
  override readonly name = "NotEncodable";
}

/** The response exceeded this client's limit. A smaller request to the server may succeed. */
export class AnswerTooLarge extends ApiUnreachable {}

const hasReason = (reason: string, code: number) => (error: unknown) =>
  error instanceof ApiError && (error.reason === reason || (error.reason === "" && error.code === code));

export const isNotFound = hasReason("NotFound", 404);
/**
 * A list or a watch failed because the API server does not serve the kind, at least not now: an API server that starts may serve it in a
 * moment. Of objects this says nothing.
 */
export const isKindMissing = (error: unknown): boolean =>
  error instanceof NotServed || (error instanceof ApiError && error.code === 404);
/** For `catch`: an object that is not there is `undefined`. */
export function undefinedIfNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
export const isAlreadyExists = hasReason("AlreadyExists", 409);
const isInvalidAnyhow = hasReason("Invalid", 422);
/** A patch named the UID of an object whose name another one has now. An API server takes it for a change of an immutable field. */
const changesUid = (error: unknown): boolean =>
  error instanceof ApiError &&
  isInvalidAnyhow(error) &&
  error.status.details?.causes?.some(({ field }) => field === "metadata.uid") === true;
/** What the request asks for is not valid. Admission policies and webhooks answer so too, also where the object itself is right. */
export const isInvalid = (error: unknown): boolean => isInvalidAnyhow(error) && !changesUid(error);
const codesOfRejections: readonly number[] = [400, 403, 413, 422];
/**
 * The API server, or an admission policy, refuses what the request asks for. It will most likely refuse it again; but its policies may
 * change, so nothing may rest on that for ever.
 */
export const isRejected = (error: unknown): error is ApiError =>
  error instanceof ApiError && codesOfRejections.includes(error.code) && !changesUid(error);
/** No room in a ResourceQuota, or not yet counted. Room may come. */
const isAboutQuota = ({ message }: ApiError): boolean =>
  /\b(exceeded|failed|insufficient|status unknown for) quota\b/i.test(message);
/** Rejected for what the object is: only a change of it, or of a policy, helps. */
export const isRejectedForGood = (error: unknown): error is ApiError =>
  isRejected(error) && !isNamespaceTerminating(error) && !(error.code === 403 && isAboutQuota(error));
/** A webhook that may have effects of its own was not asked. Kubernetes admits such webhooks only if they were made before 1.22. */
export const isDryRunUnsupported = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.code === 400 &&
  /^admission webhook "[^"]*" does not support dry run$/.test(error.message);
/** The resource version is too old: list again. */
export const isExpired = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 410 || error.reason === "Expired" || error.reason === "Gone");

// Too slow, in conflict, expired, too many: a later request may succeed.
const passingCodes: ReadonlySet<number> = new Set([408, 409, 410, 429]);
/** The API server is away or overloaded, or could not do it this time: the same call may succeed later, without a change by anybody. */
export const mayPass = (error: unknown): boolean =>
  error instanceof ApiError
    ? error.code >= 500 || passingCodes.has(error.code)
    : error instanceof ApiUnreachable && !(error instanceof AnswerTooLarge);

/**
 * Rejected because the namespace is being deleted, as marked by Kubernetes' own admission: no object can be created in
 * it any more.
 */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.code === 403 &&
  error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;

/** A write that names its object by UID found none, or another one with the same name. The answer stays the same for ever. */
export const isOfAnotherObject = (error: unknown): boolean => isNotFound(error) || isConflict(error);

/**
 * Another client has written first, or a precondition failed, also that of the UID in a patch. AlreadyExists is also a 409, but not a
 * conflict.
 */
export const isConflict = (error: unknown): boolean =>
  changesUid(error) || (error instanceof ApiError && error.code === 409 && error.reason !== "AlreadyExists");
