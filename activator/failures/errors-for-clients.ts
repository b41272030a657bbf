interface ErrorSpec {
  readonly status: number;
  /** Seconds after which the same request may succeed; absent if a retry does not help. */
  readonly retryAfterSeconds?: number;
  /** The text for the client. `subject`: the checked name of the sandbox. `because`: the known cause. */
  readonly detail: (subject: string, because: string) => string;
}

const withCause = (text: string, because: string) => (because ? `${text}: ${because}` : `${text}.`);

/**
 * Every error of the activator. Texts up to `Unexpected` are part of the protocol. SDKs retry reads on 500, 502, 503 and 504,
 * so a permanent error has a 4xx, except where clients of the ecosystem already expect a 502.
 */
export const activatorErrors = {
  MissingSandboxId: { status: 400, detail: () => "X-Sandbox-ID header is required." },
  BadSandboxId: { status: 400, detail: () => "Invalid sandbox ID format." },
  BadNamespace: { status: 400, detail: () => "Invalid namespace format." },
  BadPort: { status: 400, detail: () => "Invalid port format." },
  BadPodIpFormat: { status: 400, detail: () => "Invalid target IP address format." },
  BadPodIp: { status: 400, detail: () => "Invalid target IP address." },
  MissingCredentials: { status: 401, detail: () => "Missing or invalid Authorization header." },
  WrongToken: { status: 401, detail: () => "Invalid token." },
  Unauthenticated: { status: 401, detail: () => "unauthenticated" },
  Forbidden: { status: 403, detail: (_, because) => (because ? `forbidden: ${because}` : "forbidden") },
  AuthorizationUnavailable: {
    status: 503,
    retryAfterSeconds: 1,
    detail: () => "Authorization cannot be checked at the moment.",
  },
  MethodNotAllowed: { status: 405, detail: () => "Method Not Allowed" },
  BodyTooLarge: { status: 413, detail: () => "Request body too large." },
  ConnectFailed: { status: 502, detail: (id) => `Could not connect to the backend sandbox: ${id}` },
  SandboxNotFound: { status: 502, detail: (id) => `Could not connect to the backend sandbox: ${id}` },
  ResponseLost: { status: 502, detail: (id) => `Could not connect to the backend sandbox: ${id}` },
  UnaskedUpgrade: {
    status: 502,
    detail: () => "Backend attempted a WebSocket upgrade over HTTP. Connect using the WebSocket protocol instead.",
  },
  SandboxSlow: { status: 504, detail: (id) => `Timed out waiting for the backend sandbox: ${id}` },
  Unexpected: { status: 500, detail: () => "An internal error occurred in the proxy." },

  MalformedRequest: { status: 400, detail: (_, because) => withCause("Malformed request", because) },
  RequestTimedOut: { status: 408, detail: () => "The request did not arrive in time." },
  TargetTooLong: { status: 414, detail: () => "The request target is too long." },
  HeadersTooLarge: { status: 431, detail: () => "Request header fields too large." },
  ExpectationFailed: { status: 417, detail: () => "Only Expect: 100-continue can be met." },
  ConflictingHeaders: {
    status: 400,
    detail: () => "X-Sandbox headers contradict the host or the path of the request.",
  },
  BadSandboxPath: { status: 400, detail: (_, because) => withCause("The path names no sandbox", because) },
  ForeignHost: { status: 403, detail: () => "This activator does not answer under this host name." },
  ForeignOrigin: { status: 403, detail: () => "This activator does not answer to web pages of this origin." },
  UnknownHost: { status: 404, detail: () => "No sandbox has this host name." },
  Unclaimed: { status: 404, detail: (id) => `Sandbox belongs to a warm pool and is not claimed: ${id}` },
  PortNotDeclared: {
    status: 404,
    detail: (id) => `Sandbox uses the host network and does not declare this port: ${id}`,
  },
  BadAddress: { status: 502, detail: (id) => `Sandbox has an address that may not be dialled: ${id}` },
  WakeNotAllowed: { status: 409, detail: (id) => `Sandbox is suspended, and this request does not wake it: ${id}` },
  SandboxExpired: { status: 410, detail: (id) => `Sandbox has expired: ${id}` },
  SandboxDeleted: { status: 410, detail: (id) => `Sandbox is deleted: ${id}` },
  SandboxReplaced: {
    status: 503,
    retryAfterSeconds: 1,
    detail: (id) => `Sandbox was replaced by another of the same name: ${id}`,
  },
  InvalidConfiguration: {
    status: 424,
    detail: (id, because) => withCause(`Sandbox cannot run as it is configured: ${id}`, because),
  },
  QuotaExceeded: {
    status: 503,
    retryAfterSeconds: 30,
    detail: (id, because) => withCause(`Sandbox may not run for lack of quota: ${id}`, because),
  },
  ContainerFailed: {
    status: 502,
    detail: (id, because) => withCause(`Sandbox program does not run: ${id}`, because),
  },
  PodEnded: { status: 502, detail: (id, because) => withCause(`Sandbox Pod has ended: ${id}`, because) },
  Unschedulable: {
    status: 503,
    retryAfterSeconds: 10,
    detail: (id, because) => withCause(`No node can run the sandbox: ${id}`, because),
  },
  Waking: { status: 503, retryAfterSeconds: 1, detail: (id) => `Sandbox is waking: ${id}` },
  WakeTimedOut: {
    status: 503,
    retryAfterSeconds: 5,
    detail: (id, because) => withCause(`Sandbox is still waking: ${id}`, because),
  },
  WakeRefused: {
    status: 503,
    retryAfterSeconds: 30,
    detail: (id) => `Sandbox may not be woken by this activator: ${id}`,
  },
  WakeRateLimited: { status: 503, retryAfterSeconds: 5, detail: () => "Too many sandboxes are being woken." },
  HoldLimitReached: { status: 503, retryAfterSeconds: 1, detail: () => "Too many requests are waiting." },
  ClusterUnseen: {
    status: 503,
    retryAfterSeconds: 5,
    detail: () => "The state of the cluster is not known at the moment.",
  },
  SandboxSuspended: {
    status: 503,
    retryAfterSeconds: 1,
    detail: (id) => `Sandbox is being suspended, and this call was idle: ${id}`,
  },
  Draining: { status: 503, retryAfterSeconds: 1, detail: () => "This replica is shutting down." },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof activatorErrors;

/** The maximum length of a cause for the client, in characters: messages of a cluster may contain whole manifests. */
const longestCause = 300;

/** A request cannot be proxied. The client gets the table's text; `cause` goes to the log. */
export class ActivatorError extends Error {
  override readonly name = "ActivatorError";
  readonly code: ErrorCode;
  readonly status: number;
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
    const spec: ErrorSpec = activatorErrors[code];
    const detail = spec.detail(options.subject ?? "", (options.because ?? "").slice(0, longestCause));
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = spec.status;
    this.retryAfterSeconds = options.retryAfterSeconds ?? spec.retryAfterSeconds;
    this.detail = detail;
  }
}

/** Unexpected errors are the activator's fault; their text goes to the log alone. */
export function toActivatorError(error: unknown): ActivatorError {
  return error instanceof ActivatorError ? error : new ActivatorError("Unexpected", { cause: error });
}
