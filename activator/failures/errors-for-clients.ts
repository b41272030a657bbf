interface ErrorSpec {
  readonly status: number;
  /** Seconds after which the same request may succeed; absent if a retry does not help. */
  readonly retryAfterSeconds?: number;
  /** The text for the client, to which a known cause is added. `subject`: the checked name of the sandbox. */
  readonly text: (subject: string) => string;
}

/**
 * Every error of the activator. Texts up to `Unexpected` are part of the protocol. SDKs retry reads on 500, 502, 503 and 504,
 * so a permanent error has a 4xx, except where clients of the ecosystem already expect a 502.
 */
export const activatorErrors = {
  MissingSandboxId: { status: 400, text: () => "X-Sandbox-ID header is required." },
  BadSandboxId: { status: 400, text: () => "Invalid sandbox ID format." },
  BadNamespace: { status: 400, text: () => "Invalid namespace format." },
  BadPort: { status: 400, text: () => "Invalid port format." },
  BadPodIpFormat: { status: 400, text: () => "Invalid target IP address format." },
  BadPodIp: { status: 400, text: () => "Invalid target IP address." },
  MissingCredentials: { status: 401, text: () => "Missing or invalid Authorization header." },
  WrongToken: { status: 401, text: () => "Invalid token." },
  Unauthenticated: { status: 401, text: () => "unauthenticated" },
  Forbidden: { status: 403, text: () => "forbidden" },
  AuthorizationUnavailable: {
    status: 503,
    retryAfterSeconds: 1,
    text: () => "Authorization cannot be checked at the moment.",
  },
  MethodNotAllowed: { status: 405, text: () => "Method Not Allowed" },
  BodyTooLarge: { status: 413, text: () => "Request body too large." },
  ConnectFailed: { status: 502, text: (id) => `Could not connect to the backend sandbox: ${id}` },
  SandboxNotFound: { status: 502, text: (id) => `Could not connect to the backend sandbox: ${id}` },
  ResponseLost: { status: 502, text: (id) => `Could not connect to the backend sandbox: ${id}` },
  UnaskedUpgrade: {
    status: 502,
    text: () => "Backend attempted a WebSocket upgrade over HTTP. Connect using the WebSocket protocol instead.",
  },
  SandboxSlow: { status: 504, text: (id) => `Timed out waiting for the backend sandbox: ${id}` },
  Unexpected: { status: 500, text: () => "An internal error occurred in the proxy." },

  MalformedRequest: { status: 400, text: () => "Malformed request." },
  RequestTimedOut: { status: 408, text: () => "The request did not arrive in time." },
  TargetTooLong: { status: 414, text: () => "The request target is too long." },
  HeadersTooLarge: { status: 431, text: () => "Request header fields too large." },
  ExpectationFailed: { status: 417, text: () => "Only Expect: 100-continue can be met." },
  ConflictingHeaders: {
    status: 400,
    text: () => "X-Sandbox headers contradict the host or the path of the request.",
  },
  BadSandboxPath: { status: 400, text: () => "The path names no sandbox." },
  ForeignHost: { status: 403, text: () => "This activator does not answer under this host name." },
  ForeignOrigin: { status: 403, text: () => "This activator does not answer to web pages of this origin." },
  UnknownHost: { status: 404, text: () => "No sandbox has this host name." },
  Unclaimed: { status: 404, text: (id) => `Sandbox belongs to a warm pool and is not claimed: ${id}` },
  PortNotDeclared: {
    status: 404,
    text: (id) => `Sandbox uses the host network and does not declare this port: ${id}`,
  },
  BadAddress: { status: 502, text: (id) => `Sandbox has an address that must not be dialled: ${id}` },
  WakeNotAllowed: { status: 409, text: (id) => `Sandbox is suspended, and this request does not wake it: ${id}` },
  SandboxExpired: { status: 410, text: (id) => `Sandbox has expired: ${id}` },
  SandboxDeleted: { status: 410, text: (id) => `Sandbox is deleted: ${id}` },
  SandboxReplaced: {
    status: 503,
    retryAfterSeconds: 1,
    text: (id) => `Sandbox was replaced by another of the same name: ${id}`,
  },
  InvalidConfiguration: {
    status: 424,
    text: (id) => `Sandbox cannot run as it is configured: ${id}.`,
  },
  QuotaExceeded: {
    status: 503,
    retryAfterSeconds: 30,
    text: (id) => `A ResourceQuota leaves no room for the sandbox: ${id}.`,
  },
  ContainerFailed: {
    status: 502,
    text: (id) => `Sandbox program does not run: ${id}.`,
  },
  PodEnded: { status: 502, text: (id) => `Sandbox Pod has ended: ${id}.` },
  Unschedulable: {
    status: 503,
    retryAfterSeconds: 10,
    text: (id) => `No node can run the sandbox: ${id}.`,
  },
  Waking: { status: 503, retryAfterSeconds: 1, text: (id) => `Sandbox is waking: ${id}` },
  WakeTimedOut: {
    status: 503,
    retryAfterSeconds: 5,
    text: (id) => `Sandbox is still waking: ${id}.`,
  },
  WakeRefused: {
    status: 503,
    retryAfterSeconds: 30,
    text: (id) => `The API server rejects the wake of the sandbox: ${id}`,
  },
  WakeRateLimited: { status: 503, retryAfterSeconds: 5, text: () => "Too many sandboxes are being woken." },
  HoldLimitReached: { status: 503, retryAfterSeconds: 1, text: () => "Too many requests are waiting." },
  ClusterUnseen: {
    status: 503,
    retryAfterSeconds: 5,
    text: () => "The state of the cluster is not known at the moment.",
  },
  SandboxSuspended: {
    status: 503,
    retryAfterSeconds: 1,
    text: (id) => `Sandbox is being suspended, and this call was idle: ${id}`,
  },
  Draining: { status: 503, retryAfterSeconds: 1, text: () => "This replica is shutting down." },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof activatorErrors;

/** Every status of HTTP that an error has. */
export type ErrorStatus = (typeof activatorErrors)[ErrorCode]["status"];

/** The maximum length of a cause for the client, in characters: messages of a cluster may contain whole manifests. */
const longestCause = 300;

/** A request cannot be proxied. The client gets the table's text; `cause` goes to the log. */
export class ActivatorError extends Error {
  override readonly name = "ActivatorError";
  readonly code: ErrorCode;
  readonly status: ErrorStatus;
  readonly retryAfterSeconds: number | undefined;
  readonly detail: string;

  constructor(
    code: ErrorCode,
    options: {
      readonly subject?: string;
      readonly because?: string;
      readonly retryAfterSeconds?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    const spec: ErrorSpec & { readonly status: ErrorStatus } = activatorErrors[code];
    const detail = withCause(spec.text(options.subject ?? ""), (options.because ?? "").slice(0, longestCause));
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = spec.status;
    this.retryAfterSeconds = options.retryAfterSeconds ?? spec.retryAfterSeconds;
    this.detail = detail;
  }
}

const withCause = (text: string, because: string) => (because ? `${text.replace(/\.$/, "")}: ${because}` : text);

/** Unexpected errors are the activator's fault; their text goes to the log alone. */
export function toActivatorError(error: unknown): ActivatorError {
  return error instanceof ActivatorError ? error : new ActivatorError("Unexpected", { cause: error });
}
