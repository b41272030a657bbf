import type { Status, StatusCause, StatusDetails } from "../api/kinds/meta.ts";
import type { ResourceType } from "../api/kinds/resource-type.ts";

/** A rejection in the words of kube-apiserver; one function turns it into a response. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly code: number;
  readonly status: Status;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.status = failure(code, reason, message, details);
    this.retryAfterSeconds = details?.retryAfterSeconds;
  }
}

function failure(code: number, reason: string, message: string, details?: StatusDetails): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason !== "" && { reason }),
    ...(details && { details }),
    code,
  };
}

/** `sandboxes.agents.x-k8s.io`, or `pods` in the core group: the collection's name in messages and in the store. */
export function resourceName(type: ResourceType): string {
  return type.group === "" ? type.plural : `${type.plural}.${type.group}`;
}

const about = (type: ResourceType, name: string): StatusDetails => ({
  name,
  ...(type.group !== "" && { group: type.group }),
  kind: type.plural,
});

export const notFound = (type: ResourceType, name: string): StatusError =>
  new StatusError(404, "NotFound", `${resourceName(type)} "${name}" not found`, about(type, name));

export const noSuchResource = (): StatusError =>
  new StatusError(404, "NotFound", "the server could not find the requested resource", {});

export const alreadyExists = (type: ResourceType, name: string): StatusError =>
  new StatusError(409, "AlreadyExists", `${resourceName(type)} "${name}" already exists`, about(type, name));

const modified = "the object has been modified; please apply your changes to the latest version and try again";

export const conflict = (type: ResourceType, name: string, why: string = modified): StatusError =>
  new StatusError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${resourceName(type)} "${name}": ${why}`,
    about(type, name),
  );

export const forbidden = (
  type: ResourceType,
  name: string,
  why: string,
  causes?: readonly StatusCause[],
): StatusError =>
  new StatusError(403, "Forbidden", `${resourceName(type)} "${name}" is forbidden: ${why}`, {
    ...about(type, name),
    ...(causes && { causes }),
  });

/** The faults that an error tells, and their characters. A body may have a million, and each of them repeats its rule. */
const causesMax = 100;
const causeCharactersMax = 1024 * 1024;

/** The first faults; at least one. */
function firstOf(all: readonly StatusCause[]): readonly StatusCause[] {
  let characters = 0;
  const end = all.findIndex(({ field, message }, index) => {
    characters += field.length + message.length;
    return index > 0 && (index === causesMax || characters > causeCharactersMax);
  });
  return end < 0 ? all : all.slice(0, end);
}

/** 422 with a cause for each of the first faults. */
export function invalid(
  type: Pick<ResourceType, "group" | "kind">,
  name: string,
  all: readonly StatusCause[],
): StatusError {
  const causes = firstOf(all);
  const texts = causes.map(({ field, message }) => `${field}: ${message}`);
  const kind = type.group === "" ? type.kind : `${type.kind}.${type.group}`;
  if (causes.length < all.length) texts.push(`and ${all.length - causes.length} more`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new StatusError(422, "Invalid", `${kind} "${name}" is invalid: ${list}`, {
    ...(name !== "" && { name }),
    ...(type.group !== "" && { group: type.group }),
    kind: type.kind,
    causes,
  });
}

export const badRequest = (message: string): StatusError => new StatusError(400, "BadRequest", message);

/** kube-apiserver's error for a JSON patch that cannot be applied. */
export const rejectedRequest = (): StatusError =>
  new StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {});

export const unauthorized = (): StatusError => new StatusError(401, "Unauthorized", "Unauthorized");

export const foreignCaller = (message: string): StatusError => new StatusError(403, "Forbidden", message, {});

export const methodNotAllowed = (): StatusError =>
  new StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});

export const notAcceptable = (accepted: readonly string[]): StatusError =>
  new StatusError(406, "NotAcceptable", `only the following media types are accepted: ${accepted.join(", ")}`);

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  new StatusError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

/** `limit`: in bytes, or with the name of what is counted, which an API server of Kubernetes does not limit. */
export const bodyTooLarge = (limit: number | string): StatusError =>
  new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${limit}`);

/** A Go decoder of JSON says the same beyond its own depth. */
export const tooDeep = (nestingMax: number): StatusError =>
  badRequest(`couldn't get version/kind; json parse error: exceeded max depth of ${nestingMax}`);

export const expired = (message: string): StatusError => new StatusError(410, "Expired", message);

export const tooLargeResourceVersion = (asked: number, current: number): StatusError =>
  new StatusError(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version", field: "" }],
    retryAfterSeconds: 1,
  });

export const tooManyRequests = (message: string): StatusError =>
  new StatusError(429, "TooManyRequests", message, { retryAfterSeconds: 1 });

export const notImplemented = (message: string): StatusError => new StatusError(501, "NotImplemented", message);

/** kube-apiserver answers 500 without a reason if its etcd is full; a program could not tell that from a fault. */
export const insufficientStorage = (): StatusError =>
  new StatusError(
    507,
    "InsufficientStorage",
    "the disk of the API server is full, so the change was not stored; free some space and try again",
  );

export const quotaExceeded = (quotaBytes: number, { isNew }: { readonly isNew: boolean }): StatusError => {
  const limit = isNew ? "nine tenths (the limit for new objects) of their quota" : "their quota";
  return new StatusError(
    507,
    "InsufficientStorage",
    `with this change, all objects of the API server would take more than ${limit} of ${quotaBytes} bytes (each value counts 100 besides its text), so it was not stored; delete some objects and try again`,
  );
};

/** An error without a reason, like kube-apiserver's unexpected errors. */
export const unexpected = (message: string): StatusError => new StatusError(500, "", message);

export const internalError = (message: string): StatusError =>
  new StatusError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ reason: "", message, field: "" }],
  });
