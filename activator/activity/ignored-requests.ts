import type { AutoSuspension } from "../../api/kinds/sandbox.ts";
import { headerValue, pathOf, type RequestHead, sentTarget } from "../request.ts";

type Asked = Pick<RequestHead, "target" | "sandboxTarget" | "headers">;

/**
 * Whether `ignoreRequests` matches this request, as its sandbox would get it. An empty rule matches nothing; a raw connection never matches. The client
 * controls the number of headers and the tenant that of rules, so the headers are searched at most once for all rules.
 */
export function isIgnored(head: Asked | undefined, autoSuspension?: AutoSuspension): boolean {
  const rules = autoSuspension?.ignoreRequests;
  if (!head || rules === undefined || rules.length === 0) return false;
  const path = pathOf(sentTarget(head));
  let userAgent: string | undefined;
  for (const { pathPrefix = "", userAgentPrefix = "" } of rules) {
    if (pathPrefix === "" && userAgentPrefix === "") continue;
    if (!path.startsWith(pathPrefix)) continue;
    if (userAgentPrefix === "") return true;
    userAgent ??= headerValue(head.headers, "user-agent") ?? "";
    if (userAgent.startsWith(userAgentPrefix)) return true;
  }
  return false;
}
