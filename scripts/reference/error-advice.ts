import type { ErrorCode } from "../../activator/failures/error-codes.ts";

interface Advice {
  /** The cause, for a reader of a log or of an error response. */
  readonly why: string;
  /** The remedy. */
  readonly what: string;
}

const fixRequest = "Correct the request.";

/** The text of the errors page about each code, beside the activator's own table. */
export const errorAdvice: Readonly<Record<ErrorCode, Advice>> = {
  MissingSandboxId: {
    why: "The host does not name a sandbox, and the request has no header X-Sandbox-ID.",
    what: "Use the host name of the sandbox, or set X-Sandbox-ID.",
  },
  BadSandboxId: { why: "X-Sandbox-ID is not a valid object name (RFC 1123).", what: fixRequest },
  BadNamespace: { why: "X-Sandbox-Namespace is not a valid namespace name.", what: fixRequest },
  BadPort: { why: "The port in the host name or in X-Sandbox-Port is not a number from 1 to 65535.", what: fixRequest },
  BadPodIpFormat: { why: "X-Sandbox-Pod-IP is not an IP address.", what: fixRequest },
  BadPodIp: {
    why: "X-Sandbox-Pod-IP is an address that may not be dialled, such as a loopback or link-local address.",
    what: "Leave the header out: the activator knows the address of the Pod.",
  },
  MissingCredentials: {
    why: "A token is required, and the request has no header Authorization with a bearer token.",
    what: "Send a token. The notes of the chart show how to get it.",
  },
  WrongToken: { why: "The static token is not the configured one.", what: "Read the token again from its Secret." },
  Unauthenticated: {
    why: "The API server, or the key of scoped tokens, does not accept the token.",
    what: "Get a new token; check its expiry and its audience.",
  },
  Forbidden: {
    why: "The token is valid, but does not permit access to this sandbox.",
    what: "Grant get on sandboxes/connect, or use a token for this sandbox.",
  },
  AuthorizationUnavailable: {
    why: "The API server did not answer the review, too many reviews are in progress, or too many from this client address came to nothing.",
    what: "Retry. If it lasts, check rouse_activator_reviews_total, clients with expired or guessed tokens, and the API server.",
  },
  MethodNotAllowed: { why: "The method is not supported, such as CONNECT or TRACE.", what: fixRequest },
  BodyTooLarge: {
    why: "The request body is larger than --max-request-body-bytes.",
    what: "Send less, or raise the limit.",
  },
  ConnectFailed: {
    why: "The port of the running sandbox does not accept connections.",
    what: "Check that its program listens on that port, on all addresses.",
  },
  SandboxNotFound: {
    why: "No Sandbox or SandboxClaim has this name in this namespace.",
    what: "Check name and namespace. The status is 502 because the SDKs of the ecosystem expect it.",
  },
  ResponseLost: {
    why: "The sandbox closed the connection before its response was complete.",
    what: "Check the log of its program. A request that was sent is never repeated by the activator.",
  },
  UnaskedUpgrade: {
    why: "The sandbox answered 101 to a request that did not ask for an upgrade.",
    what: "Fix the program in the sandbox.",
  },
  SandboxSlow: {
    why: "The sandbox did not begin its response within --proxy-timeout or --response-header-timeout.",
    what: "Check its program, or raise the timeout.",
  },
  Unexpected: {
    why: "An error in the activator that it did not expect. Its log has the stack.",
    what: "Please report the bug.",
  },
  MalformedRequest: { why: "The request is not valid HTTP/1.1; the text names the cause.", what: fixRequest },
  RequestTimedOut: {
    why: "The request head did not arrive within --headers-timeout, or it was the oldest when unfinished heads took too much memory.",
    what: "Check the network of the client.",
  },
  TargetTooLong: { why: "The request target is longer than the limit of the activator.", what: fixRequest },
  HeadersTooLarge: {
    why: "The request head is larger than --max-header-bytes, has too many fields, or a Connection header of more than 1,024 bytes.",
    what: "Send fewer or shorter header fields, or raise the limit.",
  },
  ExpectationFailed: { why: "The request has an Expect header other than 100-continue.", what: fixRequest },
  ConflictingHeaders: {
    why: "The host names one sandbox and the X-Sandbox headers name another.",
    what: "Send one of the two.",
  },
  ForeignHost: {
    why: "X-Sandbox headers came on a host that --header-hosts does not list.",
    what: "Use a listed host, or add this one to --header-hosts.",
  },
  UnknownHost: {
    why: "The host is not of the form NAME.NAMESPACE.DOMAIN or PORT--NAME--NAMESPACE.DOMAIN.",
    what: "Check the host name and --domain.",
  },
  Unclaimed: {
    why: "The sandbox is an unclaimed member of a warm pool.",
    what: "Create a SandboxClaim and use the sandbox that it is given.",
  },
  PortNotDeclared: {
    why: "The sandbox uses the network of its node, and the port is not one of its containerPorts.",
    what: "Declare the port in its Pod template.",
  },
  BadAddress: {
    why: "The address of the Pod may not be dialled, such as a loopback address.",
    what: "Check the network plugin of the cluster.",
  },
  WakeNotAllowed: {
    why: "The sandbox is suspended, and autoResume.trigger is Never.",
    what: "Resume it: set spec.operatingMode to Running.",
  },
  SandboxExpired: { why: "The shutdownTime of the sandbox has passed.", what: "Create another sandbox." },
  SandboxDeleted: { why: "The sandbox is being deleted.", what: "Create another sandbox." },
  SandboxReplaced: {
    why: "The sandbox was deleted and created again while the request was held.",
    what: "Retry: the request may go to the new sandbox.",
  },
  InvalidConfiguration: {
    why: "The API server rejects the Pod of the sandbox; the text names the cause.",
    what: "Correct spec.podTemplate.",
  },
  QuotaExceeded: {
    why: "A ResourceQuota of the namespace has no room for the Pod.",
    what: "Suspend or delete other sandboxes, or raise the quota.",
  },
  ContainerFailed: {
    why: "A container of the sandbox does not start or keeps crashing; the text names the reason.",
    what: "Check its image, its command and its log.",
  },
  PodEnded: { why: "The Pod of the sandbox has succeeded or failed.", what: "Check the log of its containers." },
  Unschedulable: {
    why: "No node had room for the Pod for as long as --unschedulable-grace, or until the hold timeout.",
    what: "Add nodes, or lower the requests of the Pod.",
  },
  Waking: {
    why: "A browser asked for a page of a sandbox that is still waking (autoResume.waitPage). It is shown a page that reloads.",
    what: "Nothing: the page reloads itself.",
  },
  WakeTimedOut: {
    why: "The sandbox was not ready within autoResume.timeoutSeconds, --proxy-timeout or X-Sandbox-Timeout.",
    what: "Retry; if it lasts, look at the Pod and its events.",
  },
  WakeRefused: {
    why: "The API server does not permit the activator to resume the sandbox.",
    what: "Check the ClusterRole of the activator and admission webhooks.",
  },
  WakeRateLimited: {
    why: "The wakes of this namespace exceed --wakes-per-second and --wakes-burst.",
    what: "Retry later, or raise the limits.",
  },
  HoldLimitReached: {
    why: "Too many requests are held: in all, for the namespace, for the sandbox, or for more than 32 of its ports.",
    what: "Retry; or raise --held-max-total, --held-max-per-namespace or --held-max-per-sandbox.",
  },
  ClusterUnseen: {
    why: "The activator has not heard from the API server for two minutes, or has not listed the cluster yet and the request can be held no longer.",
    what: "Retry; check the connection of the activator to the API server.",
  },
  Draining: { why: "This replica of the activator is shutting down.", what: "Retry: another replica answers." },
};
