import type { ErrorCode } from "../../activator/failures/errors-for-clients.ts";
import type { Advice } from "./advice.ts";

const fixRequest = "Correct the request.";

/** The text of the errors page about each code, beside the activator's own table. */
export const errorAdvice: Readonly<Record<ErrorCode, Advice>> = {
  MissingSandboxId: {
    why: "Neither the host nor the path names a sandbox, and the request has no header X-Sandbox-ID.",
    what: "Use the host name or the path of the sandbox, or set X-Sandbox-ID.",
  },
  BadSandboxId: {
    why: "X-Sandbox-ID, or the name in the path, is not a DNS label (RFC 1123). Or the header is sent twice with different values.",
    what: fixRequest,
  },
  BadNamespace: {
    why: "X-Sandbox-Namespace, or the namespace in the path, is not a DNS label (RFC 1123). Or the header is sent twice with different values.",
    what: fixRequest,
  },
  BadPort: {
    why: "X-Sandbox-Port, or the port in the path, is not a number from 1 to 65535. Or the header is sent twice with different values. Or a gRPC call names its sandbox by headers, and has no X-Sandbox-Port.",
    what: fixRequest,
  },
  BadPodIpFormat: {
    why: "X-Sandbox-Pod-IP is not an IP address.",
    what: "Leave the header out: the activator knows the address of the Pod.",
  },
  BadPodIp: {
    why: "X-Sandbox-Pod-IP is an address that must not be dialled, such as a loopback or link-local address, or is sent twice with different values.",
    what: "Leave the header out: the activator knows the address of the Pod.",
  },
  MissingCredentials: {
    why: "The activator has a static token, and the request has no credential. A credential is one header Authorization with a bearer token. If the path names the sandbox, and the request has no header Authorization of any form, the query parameter of --authz-cookie-query-param and the cookie of --authz-cookie-name are credentials too.",
    what: "Send a token. The notes of the chart show how to get one.",
  },
  WrongToken: {
    why: "The token of the request is not the static token of the activator.",
    what: "Read the token again from its Secret.",
  },
  Unauthenticated: {
    why: "The request has no token where one is required. Or its token is not valid: the API server does not accept it, or it is not signed with a key of scoped tokens, or it has expired, or it is a scoped token of version 1 after --authz-scoped-token-v1-until. Or the cookie that stands for a static token is not valid: it expires after twelve hours, and when the token changes. Or the token in the query has characters that a cookie cannot have.",
    what: "Send a new token; check its expiry and its audience.",
  },
  Forbidden: {
    why: "The token is valid, but does not permit access to this sandbox, or there is no token, and the anonymous user has no access to this sandbox. A cookie that stands for a static token opens one port of one sandbox. A scoped token of version 2 also names a port, a method, a path and one Sandbox object. Or the request has a scoped token and a header X-Sandbox-Pod-IP, or a scoped token of version 1 and a header X-Sandbox-UID, or a scoped token of version 2 and a header that some programs read as another method or target, such as X-HTTP-Method-Override or X-Original-URL.",
    what: "Grant get on sandboxes/connect, or use a token for this sandbox. Leave these headers out.",
  },
  AuthorizationUnavailable: {
    why: "The API server did not answer the review of the token or of the access. Or too many reviews are in progress, or too many for this client failed or were answered no. Or the heads of requests that wait for reviews take too much memory.",
    what: "Retry. If it lasts, check rouse_activator_reviews_total, clients with expired or guessed tokens, and the API server.",
  },
  MethodNotAllowed: {
    why: "The method is TRACE or CONNECT. Over HTTP/2 a CONNECT that opens a WebSocket is permitted.",
    what: fixRequest,
  },
  BodyTooLarge: {
    why: "The request body is larger than --max-request-body-bytes, or its length is above 2^53 - 1 bytes.",
    what: "Send less, or raise --max-request-body-bytes.",
  },
  ConnectFailed: {
    why: "The port of the Pod does not accept connections, or the readiness probes of the Pod fail. The replica has seen the Pod with an address for longer than autoResume.timeoutSeconds, so the Pod no longer counts as starting.",
    what: "Check that the program of the sandbox listens on that port, on all addresses.",
  },
  SandboxNotFound: {
    why: "No Sandbox has the name and namespace in the X-Sandbox headers or in the path. These cannot name a SandboxClaim.",
    what: "Check name and namespace. The status is 502 because the SDKs of the ecosystem expect it.",
  },
  ResponseLost: {
    why: "The sandbox closed the connection or reset the stream before its response began, or its Pod was deleted. Or its response is not valid HTTP, or its head is too large. Or the activator cannot send its status (600 or more) over HTTP/2, or the sandbox answered a WebSocket over HTTP/2 with success instead of 101. Or nothing moved in a gRPC call for --stream-idle-timeout. Or unfinished heads took too much memory, and the activator dropped the head of this response.",
    what: "Check the log of the program of the sandbox. The activator never sends a request to a sandbox twice.",
  },
  UnaskedUpgrade: {
    why: "The sandbox answered 101, and the request had not asked for an upgrade, or had asked for another protocol. Or the sandbox answered a WebSocket over HTTP/2 with 101 and with a wrong Sec-WebSocket-Accept, or with none.",
    what: "Fix the program in the sandbox.",
  },
  SandboxSlow: {
    why: "The sandbox had the whole request, or took no more of it, and did not begin its response within --proxy-timeout, --response-header-timeout or X-Sandbox-Timeout. Or its response had not begun after --total-timeout. Or a gRPC call took longer than its grpc-timeout or --total-timeout.",
    what: "Check the program of the sandbox, or raise the timeout.",
  },
  Unexpected: {
    why: "An unexpected error in the activator. The log of the activator has the stack.",
    what: "Please report the bug.",
  },
  MalformedRequest: {
    why: "The request is not valid HTTP, or uses an HTTP version, a method or a transfer coding that the activator does not support; the text names the cause.",
    what: fixRequest,
  },
  RequestTimedOut: {
    why: "The request head was not complete within --headers-timeout. Or unfinished heads took too much memory, and the activator closed this connection to free some of it. Or the sandbox waited for the rest of the request body, and the client paused for --proxy-timeout, or --total-timeout was over.",
    what: "Check the network of the client. If it lasts, check rouse_activator_unfinished_heads_shed_total.",
  },
  TargetTooLong: { why: "The request target is longer than 16,384 bytes.", what: fixRequest },
  HeadersTooLarge: {
    why: "The request head is larger than --max-header-bytes, has more than 128 fields, or has a Connection header of more than 1,024 bytes.",
    what: "Send fewer or shorter header fields, or raise --max-header-bytes.",
  },
  ExpectationFailed: { why: "The request has an Expect header other than 100-continue.", what: fixRequest },
  ConflictingHeaders: {
    why: "The host or the path names one sandbox, namespace or port, and the X-Sandbox headers name another.",
    what: "Name the sandbox only once: by the host, by the path or by the headers.",
  },
  BadSandboxPath: {
    why: "The path begins with --path-routing-prefix, but does not name a namespace, a sandbox and a port behind it. Or the path begins with PREFIX/-/, which is only for links and forms with a token in the query: the query has no token, or a link or a form cannot send the request, or --authz-cookie-query-param is not set.",
    what: "Use PREFIX/NAMESPACE/NAME/PORT/. The port is always needed there.",
  },
  ForeignHost: {
    why: "--header-hosts is set, and the host neither names a sandbox nor is in that list.",
    what: "Use the host name of the sandbox or a listed host, or add this one to --header-hosts.",
  },
  ForeignOrigin: {
    why: "--refuse-foreign-pages is set, as in local mode, and a browser sent the request for a web page that is neither of a sandbox nor of a host in --header-hosts. Or the request has the cookie of --authz-cookie-name, and its Origin is neither that of its host nor in --authz-cookie-allowed-origins. Or a browser asked whether a page may call by gRPC-Web, and the page is neither of that sandbox nor of an origin in --grpc-web-origins; for a request over TLS, a page of the sandbox that was loaded without TLS is foreign too. Or a page of another origin sent a POST with the header X-Grpc-Web that is no call of gRPC-Web.",
    what: "Add the host of the page to --header-hosts, in local mode to --allowed-hosts. For the cookie, add the origin to --authz-cookie-allowed-origins, or set --authz-trust-forwarded-proto behind a gateway that ends TLS. For gRPC-Web, add the origin to --grpc-web-origins.",
  },
  UnknownHost: {
    why: "No Sandbox has the name in the host, nor, below --domain, a SandboxClaim. Or the host is below --domain and not of the form NAME.NAMESPACE.DOMAIN or PORT--NAME--NAMESPACE.DOMAIN.",
    what: "Check name, namespace and --domain.",
  },
  Unclaimed: {
    why: "The sandbox is an unclaimed member of a warm pool. A request reaches the sandbox only while the sandbox is to run, by the X-Sandbox headers with the UID of the sandbox in X-Sandbox-UID.",
    what: "Create a SandboxClaim and use the sandbox that it is given.",
  },
  PortNotDeclared: {
    why: "The sandbox uses the network of its node, and the port is not a containerPort of its containers.",
    what: "Declare the port in its Pod template.",
  },
  BadAddress: {
    why: "The address of the Pod must not be dialled, such as a loopback address.",
    what: "Check the network plugin of the cluster.",
  },
  WakeNotAllowed: {
    why: "The sandbox is suspended, and autoResume.trigger is Never or the request matches autoSuspension.ignoreRequests.",
    what: "Set spec.operatingMode to Running, or send a request that may wake it.",
  },
  SandboxExpired: {
    why: "The shutdownTime of the sandbox has passed.",
    what: "Create another sandbox. With shutdownPolicy Retain, a later shutdownTime starts it again, with its volumes.",
  },
  SandboxDeleted: {
    why: "The sandbox is being deleted, or was deleted while the request was held.",
    what: "Create another sandbox.",
  },
  SandboxReplaced: {
    why: "The sandbox was deleted and created again while the request was held.",
    what: "Retry: the request may go to the new sandbox.",
  },
  InvalidConfiguration: {
    why: "The API server answers 422 Invalid to the controller for the Pod, a volume claim or the Service of the sandbox, or the Sandbox has more than 100 integers beyond 2^53, and at least one is in the Pod template; the text names the cause.",
    what: "Correct the spec of the sandbox. Where an admission policy rejects an object, correct the policy: the controller tries the write again after at most 10 minutes (longer while many writes are rejected), or when the sandbox changes.",
  },
  QuotaExceeded: {
    why: "A ResourceQuota of the namespace has no room for the Pod, or for another object of the sandbox.",
    what: "Suspend or delete other sandboxes, or raise the quota.",
  },
  ContainerFailed: {
    why: "A container of the sandbox does not start, keeps crashing, or has ended and is not restarted; the text names the reason.",
    what: "Check its image, its command and its log.",
  },
  PodEnded: { why: "The Pod of the sandbox has succeeded or failed.", what: "Check the log of its containers." },
  Unschedulable: {
    why: "The scheduler has found no node that can run the Pod, and --unschedulable-grace has passed. If the flag is 0, held requests end with WakeTimedOut instead.",
    what: "Add nodes, lower the requests of the Pod, or correct its rules about nodes; the text has the words of the scheduler.",
  },
  Waking: {
    why: "A browser asked for a page of a sandbox that was still waking after 1 s (autoResume.waitPage). The browser is shown a wait page.",
    what: "Nothing: the wait page reloads itself.",
  },
  WakeTimedOut: {
    why: "The sandbox was not ready for the request in time: it was not resumed, its Pod or its port was not ready, or its readiness probes failed. The limit is the least of autoResume.timeoutSeconds, --proxy-timeout, X-Sandbox-Timeout and grpc-timeout, less a margin for the answer: 5 %, at least 1 s, and never more than half. The text says what the request waited for.",
    what: "Retry; if it lasts, check the Pod and its events.",
  },
  WakeRefused: {
    why: "The API server rejects the patch that resumes the sandbox.",
    what: "Check the ClusterRole of the activator, and the admission webhooks and policies of the cluster.",
  },
  WakeRateLimited: {
    why: "Many wakes of this namespace wait for --wakes-per-second, and this one would wait for more than 10 s.",
    what: "Retry later, or raise --wakes-per-second or --wakes-burst.",
  },
  HoldLimitReached: {
    why: "Too many requests are held: in all, for the namespace or for the sandbox. A request takes a slot for each 8 KiB of its head and kept body, so a held upload may find no slot for further data. Or only the last tenth of all slots is free, and the namespace holds at least as many slots as are free. Or requests are held for 32 other ports of the sandbox or addresses of its Pod.",
    what: "Retry; or raise --held-max-total, --held-max-per-namespace or --held-max-per-sandbox.",
  },
  ClusterUnseen: {
    why: "The activator has not heard from the API server for two minutes. Or it has not listed the cluster yet: the time to hold the request is over, or the host names a sandbox and the token does not permit the name as it is spelled, or the request has a scoped token of version 2.",
    what: "Retry; check the connection of the activator to the API server.",
  },
  SandboxSuspended: {
    why: "The sandbox is being suspended. The gRPC call was idle, and the client had not ended the request of the call.",
    what: "Call again: the next call wakes the sandbox. `openConnections: Count` keeps a sandbox awake while a call is open.",
  },
  Draining: {
    why: "This replica of the activator is shutting down, and the request was held.",
    what: "Retry: another replica answers.",
  },
};
