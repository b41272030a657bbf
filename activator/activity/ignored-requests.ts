import type { AutoSuspension } from "../../api/sandbox.ts";
import { headerValue, pathOf, type RequestHead } from "../request.ts";

type Asked = Pick<RequestHead, "target" | "headers">;

/** Whether the owner of a sandbox said that such requests neither wake nor count. A rule that says nothing fits none; what is no request is not ignored. */
export function isIgnored(head: Asked | undefined, { ignoreRequests = [] }: AutoSuspension = {}): boolean {
  if (!head) return false;
  return ignoreRequests.some(({ pathPrefix = "", userAgentPrefix = "" }) => {
    if (pathPrefix === "" && userAgentPrefix === "") return false;
    const userAgent = headerValue(head.headers, "user-agent") ?? "";
    return pathOf(head.target).startsWith(pathPrefix) && userAgent.startsWith(userAgentPrefix);
  });
}
