import { type Domains, readHost } from "../find/host-name.ts";
import { headerValue, type RequestHead, type Synthetic } from "../request.ts";
import type { SessionCookie } from "./browser-entry.ts";

export interface WorkerRules extends Domains {
  readonly pathRouting?: { readonly session: Pick<SessionCookie, "queryParameter"> | undefined } | undefined;
}

/**
 * A new worker fails: its registration is rejected. A worker of before is replaced by this one, which ends. Browsers would keep it if the
 * script were an error (w3c/ServiceWorker#204).
 */
const script = `// Service workers see the URLs of links with a token, so this activator permits none here.
if (!self.registration.active) throw new Error("The activator permits no service workers on hosts whose paths name sandboxes.");
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.registration.unregister()));
`;

const endOfWorkers: Synthetic = {
  status: 200,
  headers: [
    ["Content-Type", "text/javascript"],
    ["Cache-Control", "no-store"],
  ],
  body: script,
};

/**
 * The script of a service worker, in place of the sandbox's; undefined: the request is for none, or its host has no links with a token. A
 * service worker sees the URL of each link to its sandbox before the activator does. All sandboxes of such a host have one origin.
 */
export function answerToWorkerScript(head: RequestHead, rules: WorkerRules): Synthetic | undefined {
  if (rules.pathRouting?.session?.queryParameter === undefined || !asksForWorker(head)) return undefined;
  return readHost(head.host, rules).is === "other" ? endOfWorkers : undefined;
}

/** Service Workers, "Update": only scripts of service workers have the first field. Fetch Metadata: the second, over TLS. */
function asksForWorker({ method, headers }: RequestHead): boolean {
  if (method !== "GET") return false;
  if (headerValue(headers, "service-worker") !== undefined) return true;
  return headerValue(headers, "sec-fetch-dest")?.toLowerCase() === "serviceworker";
}
