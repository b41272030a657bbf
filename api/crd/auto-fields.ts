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
    pathPrefix: described("The request path begins with this prefix. The prefix begins with a slash.", {
      ...text,
      pattern: "^/",
      maxLength: 1024,
    }),
    userAgentPrefix: described("The User-Agent header begins with this prefix.", {
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
    `The request has the form of a probe of a container. The field host is ignored. A request with more than ${probeHeadersMax} headers, or more than ${probeCharactersMax} characters of path and headers, is not sent, and the workload counts as busy.`,
    httpGet,
  ),
  limitSeconds: described(
    `The probe blocks suspension for inactivity for at most this number of seconds in a row. Default: ${autoSuspensionDefaults.busyProbeLimitSeconds}.`,
    { ...int32, minimum: 1 },
  ),
});

const autoSuspension = object({
  busyProbe: described(
    "The busy probe is a request to the workload before a suspension for inactivity. Status 2xx permits the suspension. With any other status, or without a response, the workload counts as busy.",
    busyProbe,
  ),
  drainTimeoutSeconds: described(
    `A manual suspension (a write of operatingMode: Suspended) waits at most this number of seconds for work in flight, and then cuts the work. A suspension for inactivity waits at most this time for requests that match ignoreRequests. For all other work, a suspension for inactivity waits without a limit, unless an activator does not respond for five minutes. Default: ${autoSuspensionDefaults.drainTimeoutSeconds}.`,
    { ...int32, minimum: 0 },
  ),
  ignoreRequests: described(
    "Requests that match one of the entries neither wake the sandbox nor count as activity. A request matches an entry if all fields of the entry match.",
    { ...listOf(requestPattern), maxItems: 64 },
  ),
  inactivityTimeoutSeconds: described(
    "The sandbox is suspended after this number of seconds without activity. Without a value, the sandbox is not suspended for inactivity.",
    { ...int32, minimum: 1 },
  ),
  keepAwakeUntil: described(
    "The sandbox is not suspended for inactivity before this time. A time that cannot be read is ignored.",
    time,
  ),
  openConnections: described(
    `The value says what counts as activity on an open WebSocket, event stream, gRPC call or TCP connection. With Data, data in either direction counts, but not pings of a WebSocket or of HTTP/2 and comments of an event stream; data that the sandbox has not answered is work in flight. With Count, the open connection counts. With Ignore, nothing counts. Default: ${autoSuspensionDefaults.openConnections}.`,
    oneOf("Data", "Count", "Ignore"),
  ),
  unansweredLimitSeconds: described(
    `With openConnections Data, unanswered data on a TCP connection, WebSocket or gRPC call is work in flight for this number of seconds after the client's last byte. With 0, unanswered data is never work in flight. Default: ${autoSuspensionDefaults.unansweredLimitSeconds}.`,
    { ...int32, minimum: 0 },
  ),
});

const autoResume = object({
  allowFrom: described(
    `The value says who may connect without HTTP. With Namespace, Pods of the namespace of the sandbox may connect through the Service of the sandbox. With Cluster, Pods of all namespaces may connect through the Service. With Any, everyone whom Cluster permits may connect, and also everyone who knows the name of the sandbox, through the by-name listener of the activators, to the TCP ports that the Pod template declares. A Pod that uses the network of a node never gets in through the Service. A connection wakes the sandbox, and the activator asks for no token. Default: ${autoResumeDefaults.allowFrom}.`,
    oneOf("Namespace", "Cluster", "Any"),
  ),
  readiness: described(
    `The value says when a held request or connection is sent to the Pod. With Auto, the port must accept connections, and the readiness probes of the Pod must pass. With PodReady, the Pod must be Ready. With PortOpen, the port must accept connections. Default: ${autoResumeDefaults.readiness}.`,
    oneOf("Auto", "PodReady", "PortOpen"),
  ),
  timeoutSeconds: described(
    `A request or connection is held for at most this number of seconds while the sandbox wakes. The flag --proxy-timeout and the headers X-Sandbox-Timeout and grpc-timeout can shorten the time. Default: ${autoResumeDefaults.timeoutSeconds}.`,
    { ...int32, minimum: 1 },
  ),
  trigger: described(
    `The value says what wakes the sandbox. With Connection, a request or connection to the sandbox wakes the sandbox. With Never, only a change of operatingMode resumes the sandbox. Default: ${autoResumeDefaults.trigger}.`,
    oneOf("Connection", "Never"),
  ),
  waitPage: described(
    `The value says what a browser gets that requests a page while the sandbox wakes. With Browser, the browser gets a wait page after one second; the page reloads itself. With Never, the request is held. Default: ${autoResumeDefaults.waitPage}.`,
    oneOf("Browser", "Never"),
  ),
});

export const autoFields: Readonly<Record<string, JsonSchema>> = {
  autoResume: described(
    "The fields say how the sandbox wakes. Without autoResume the defaults apply: a connection wakes the sandbox.",
    autoResume,
  ),
  autoSuspension: described(
    "The fields say when the sandbox is suspended for inactivity. Without autoSuspension, the sandbox is never suspended for inactivity.",
    autoSuspension,
  ),
  suspensionStrategy,
};

export const autoStatusFields: Readonly<Record<string, JsonSchema>> = {
  hibernation,
  lastActivityTime: described(
    "The sandbox last had activity at this time. The moment in which the Pod became Ready counts as activity too. While the sandbox is awake, the time may be up to a minute behind. Only sandboxes with autoSuspension.inactivityTimeoutSeconds have the field.",
    time,
  ),
  nextSuspensionTime: described(
    "The sandbox will be suspended at this time if there is no activity before. While the sandbox is in use, the time may be up to a minute too early, and may lie in the past. The time stays in the past while something else blocks the suspension: a busyProbe, an activator that does not respond, or memory that cannot be kept with onFailure StayAwake.",
    time,
  ),
};
