import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import type { Calls } from "../cluster/api-calls.ts";

const channel = "http.server.request.start";
const verbs: Readonly<Record<string, string>> = { POST: "create", PATCH: "patch", PUT: "update", DELETE: "delete" };

/** Counts the calls of a controller to servers of this process from now on, until the result is called. */
export function countRequests(): () => Calls {
  const calls = new Map<string, number>();
  const count = (message: unknown) => {
    const { request } = message as { readonly request: IncomingMessage };
    const { method = "GET", url = "/", headers } = request;
    if (!headers["user-agent"]?.startsWith("agent-sandbox-controller") || url.includes("/leases")) return;
    const verb = method === "GET" ? (url.includes("watch=true") ? "watch" : "get") : (verbs[method] ?? method);
    if (verb === "watch") return;
    const [plural, , subresource] = url.replace(/\?.*/, "").split("/namespaces/")[1]?.split("/").slice(1) ?? [];
    const words = `${verb} ${plural}${subresource ? `/${subresource}` : ""}`;
    calls.set(words, (calls.get(words) ?? 0) + 1);
  };
  subscribe(channel, count);
  return () => {
    unsubscribe(channel, count);
    return calls;
  };
}
