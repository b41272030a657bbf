// The fields that are ours: how a sandbox falls asleep and wakes by itself. They are the same in every version of Sandbox
// and SandboxTemplate, so that a client of an older version that writes an object back drops nothing. None has a default
// in the schema: what an absent field means is decided by readers, and an object that uses none of them stays as it was.
import { autoResumeDefaults, autoSuspensionDefaults } from "../defaults.ts";
import { httpGet } from "./container.ts";
import type { JsonSchema } from "./json-schema.ts";
import { described, int32, listOf, object, oneOf, text, time } from "./shapes.ts";

const requestPattern: JsonSchema = {
  ...object({
    pathPrefix: described("The path of the request begins with this. It begins with a slash.", {
      ...text,
      pattern: "^/",
      maxLength: 1024,
    }),
    userAgentPrefix: described("The User-Agent header of the request begins with this.", {
      ...text,
      minLength: 1,
      maxLength: 256,
    }),
  }),
  // An entry that says nothing would match every request.
  minProperties: 1,
};

const busyProbe = object({
  "httpGet*": described("The request, as in the probes of a container; its host is ignored.", httpGet),
  limitSeconds: described(
    `For how many seconds in a row the probe can keep the sandbox awake. Default: ${autoSuspensionDefaults.busyProbeLimitSeconds}.`,
    { ...int32, minimum: 1 },
  ),
});

const autoSuspension = object({
  busyProbe: described(
    "A request put to the workload when it would be suspended: a 2xx answer lets it sleep, anything else says that it is busy.",
    busyProbe,
  ),
  drainTimeoutSeconds: described(
    `How many seconds a suspension that a person asked for waits for work in flight. A suspension by inactivity never cuts any. Default: ${autoSuspensionDefaults.drainTimeoutSeconds}.`,
    { ...int32, minimum: 0 },
  ),
  ignoreRequests: described(
    "Requests that neither wake the sandbox nor count as activity. An entry matches when all that it says is true of the request.",
    { ...listOf(requestPattern), maxItems: 64 },
  ),
  inactivityTimeoutSeconds: described(
    "Suspend the sandbox after so many seconds without activity. Without a value it never sleeps by itself.",
    { ...int32, minimum: 1 },
  ),
  keepAwakeUntil: described("No suspension by inactivity before this time.", time),
  openConnections: described(
    `What an open WebSocket, event stream or TCP connection means. Data: bytes either way are activity, pings are not. Count: being open is activity. Ignore: neither is. Default: ${autoSuspensionDefaults.openConnections}.`,
    oneOf("Data", "Count", "Ignore"),
  ),
});

const autoResume = object({
  allowFrom: described(
    `Who may reach the sandbox through its Service. Namespace: Pods of its own namespace. Cluster: every Pod. Default: ${autoResumeDefaults.allowFrom}.`,
    oneOf("Namespace", "Cluster"),
  ),
  readiness: described(
    `When a held connection is let through. Auto: the port accepts, and the readiness probe of the Pod passes. PodReady: the Pod is Ready. PortOpen: the port accepts. Default: ${autoResumeDefaults.readiness}.`,
    oneOf("Auto", "PodReady", "PortOpen"),
  ),
  timeoutSeconds: described(
    `For how many seconds one connection may be held while the sandbox wakes. Default: ${autoResumeDefaults.timeoutSeconds}.`,
    { ...int32, minimum: 1 },
  ),
  trigger: described(
    `What wakes the sandbox by itself. Connection: a connection that reaches it. Never: nothing. Default: ${autoResumeDefaults.trigger}.`,
    oneOf("Connection", "Never"),
  ),
  waitPage: described(
    `Whether a browser that opens a page of the sleeping sandbox is shown that it is waking (Browser), or just waits (Never). Default: ${autoResumeDefaults.waitPage}.`,
    oneOf("Browser", "Never"),
  ),
});

export const autoFields: Readonly<Record<string, JsonSchema>> = {
  autoResume: described("How the sandbox wakes. Without it, a connection wakes it.", autoResume),
  autoSuspension: described("How the sandbox falls asleep. Without it, it never does by itself.", autoSuspension),
};

export const autoStatusFields: Readonly<Record<string, JsonSchema>> = {
  lastActivityTime: described(
    "When the sandbox was last used. Kept for sandboxes with autoSuspension only, to the minute.",
    time,
  ),
  nextSuspensionTime: described("When the sandbox will be suspended unless it is used before.", time),
};
