// Our own fields: suspension for inactivity, wakes, and what a suspension keeps. They are the same in every version of Sandbox and SandboxTemplate, so
// a client of an older version that writes an object back drops none. They have no defaults in the schema: readers apply
// the defaults, so an object without these fields stays unchanged.
import { autoResumeDefaults, autoSuspensionDefaults } from "../rules/defaults.ts";
import { probeCharactersMax, probeHeadersMax } from "../rules/probe-request.ts";
import { httpGet } from "./container.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, listOf, object, oneOf, text, time } from "./shapes.ts";
import { hibernation, suspensionStrategy } from "./suspension-strategy.ts";

const requestPattern: JsonSchema = {
  ...object({
    pathPrefix: described("Prefix of the request path. It starts with a slash.", {
      ...text,
      pattern: "^/",
      maxLength: 1024,
    }),
    userAgentPrefix: described("Prefix of the User-Agent header.", {
      ...text,
      minLength: 1,
      maxLength: 256,
    }),
  }),
  // An empty entry would match every request.
  minProperties: 1,
};

const busyProbe = object({
  "httpGet*": described(
    `The request, as in the probes of a container. Its host is ignored. With more than ${probeHeadersMax} headers, or more than ${probeCharactersMax} characters of path and headers, it is not sent, and the workload counts as busy.`,
    httpGet,
  ),
  limitSeconds: described(
    `Maximum time in a row that the probe blocks suspension for inactivity, in seconds. Default: ${autoSuspensionDefaults.busyProbeLimitSeconds}.`,
    { ...int32, minimum: 1 },
  ),
});

const autoSuspension = object({
  busyProbe: described(
    "A request to the workload before a suspension for inactivity. Status 2xx permits the suspension. Any other status, or no response, means busy.",
    busyProbe,
  ),
  drainTimeoutSeconds: described(
    `Maximum time that a manual suspension (a write of operatingMode: Suspended) waits for work in flight, in seconds. A suspension for inactivity waits at most this time for requests that match ignoreRequests. For all other work it waits without a limit, unless an activator does not respond for five minutes. Default: ${autoSuspensionDefaults.drainTimeoutSeconds}.`,
    { ...int32, minimum: 0 },
  ),
  ignoreRequests: described(
    "Requests that neither wake the sandbox nor count as activity. A request matches if all fields of one entry match.",
    { ...listOf(requestPattern), maxItems: 64 },
  ),
  inactivityTimeoutSeconds: described(
    "Time without activity after which the sandbox is suspended, in seconds. Without a value it is not suspended for inactivity.",
    { ...int32, minimum: 1 },
  ),
  keepAwakeUntil: described(
    "The sandbox is not suspended for inactivity before this time. A time that cannot be read is ignored.",
    time,
  ),
  openConnections: described(
    `What counts as activity on an open WebSocket, event stream, gRPC call or TCP connection. Data: data in either direction, without pings of a WebSocket or of HTTP/2 and comments of an event stream; data that the sandbox has not answered is work in flight. Count: the open connection itself. Ignore: nothing. Default: ${autoSuspensionDefaults.openConnections}.`,
    oneOf("Data", "Count", "Ignore"),
  ),
  unansweredLimitSeconds: described(
    `With openConnections Data: how long unanswered data on a TCP connection, WebSocket or gRPC call is work in flight, in seconds after the client's last byte. 0: it is never work in flight. Default: ${autoSuspensionDefaults.unansweredLimitSeconds}.`,
    { ...int32, minimum: 0 },
  ),
});

const autoResume = object({
  allowFrom: described(
    `Who may connect without HTTP. Namespace: Pods of its own namespace, through the Service of the sandbox. Cluster: Pods of all namespaces, through that Service; a Pod that uses the network of its node is not admitted. Any: these, and also everyone who knows its name, through the by-name listener of the activators. Such a connection wakes the sandbox, and the activator asks for no token. Default: ${autoResumeDefaults.allowFrom}.`,
    oneOf("Namespace", "Cluster", "Any"),
  ),
  readiness: described(
    `When a held request or connection is sent to the Pod. Auto: the port accepts connections, and the readiness probes of the Pod pass. PodReady: the Pod is Ready. PortOpen: the port accepts connections. Default: ${autoResumeDefaults.readiness}.`,
    oneOf("Auto", "PodReady", "PortOpen"),
  ),
  timeoutSeconds: described(
    `Maximum time that a request or connection is held while the sandbox wakes, in seconds. --proxy-timeout, the header X-Sandbox-Timeout and grpc-timeout can shorten it. Default: ${autoResumeDefaults.timeoutSeconds}.`,
    { ...int32, minimum: 1 },
  ),
  trigger: described(
    `What wakes the sandbox. Connection: a request or connection to it. Never: only a change of operatingMode resumes it. Default: ${autoResumeDefaults.trigger}.`,
    oneOf("Connection", "Never"),
  ),
  waitPage: described(
    `Response to a browser that requests a page while the sandbox wakes. Browser: after one second, a wait page that reloads itself. Never: the request is held. Default: ${autoResumeDefaults.waitPage}.`,
    oneOf("Browser", "Never"),
  ),
});

export const autoFields: Readonly<Record<string, JsonSchema>> = {
  autoResume: described("How the sandbox wakes. Without it the defaults apply: a connection wakes it.", autoResume),
  autoSuspension: described("When the sandbox is suspended for inactivity. Without it, never.", autoSuspension),
  suspensionStrategy,
};

export const autoStatusFields: Readonly<Record<string, JsonSchema>> = {
  hibernation,
  lastActivityTime: described(
    "Time of the last activity, which includes that the Pod became Ready. Up to a minute behind while the sandbox is awake. Only for sandboxes with autoSuspension.",
    time,
  ),
  nextSuspensionTime: described(
    "Time at which the sandbox will be suspended if there is no activity before. While the sandbox is in use it may be up to a minute too early, and may lie in the past. It stays in the past while something else blocks the suspension: a busyProbe, an activator that does not respond, or memory that cannot be kept with onFailure StayAwake.",
    time,
  ),
};
