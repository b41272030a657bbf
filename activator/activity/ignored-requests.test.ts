import { describe, expect, it } from "vitest";
import { isIgnored } from "./ignored-requests.ts";

const monitor = { target: "/health?deep=1", headers: [["User-Agent", "kube-probe/1.34"]] } as const;

describe("ignoreRequests", () => {
  it.each([
    { rule: { pathPrefix: "/health" }, fits: true },
    { rule: { pathPrefix: "/healthz" }, fits: false },
    { rule: { userAgentPrefix: "kube-probe/" }, fits: true },
    { rule: { userAgentPrefix: "curl/" }, fits: false },
    { rule: { pathPrefix: "/health", userAgentPrefix: "kube-probe/" }, fits: true },
    { rule: { pathPrefix: "/health", userAgentPrefix: "curl/" }, fits: false },
    { rule: { pathPrefix: "/health?deep" }, fits: false },
    { rule: {}, fits: false },
    { rule: { pathPrefix: "", userAgentPrefix: "" }, fits: false },
  ])("matches all parts of a rule: $rule is $fits", ({ rule, fits }) => {
    expect(isIgnored(monitor, { ignoreRequests: [rule] })).toBe(fits);
  });

  it("matches one of several rules, and is never ignored without rules", () => {
    const ignoreRequests = [{ pathPrefix: "/other" }, { pathPrefix: "/health" }];
    expect(isIgnored(monitor, { ignoreRequests })).toBe(true);
    expect(isIgnored(monitor, undefined)).toBe(false);
    expect(isIgnored(monitor, {})).toBe(false);
  });

  it("has its headers searched once, for any number of rules", () => {
    let searches = 0;
    const headers = [["X-Any", "value"] as const, ["User-Agent", "curl/8"] as const];
    const each = headers[Symbol.iterator].bind(headers);
    Object.assign(headers, {
      [Symbol.iterator]: () => {
        searches += 1;
        return each();
      },
    });
    const ignoreRequests = Array.from({ length: 64 }, (_, n) => ({ pathPrefix: "/", userAgentPrefix: `probe-${n}/` }));
    expect(isIgnored({ target: "/", headers }, { ignoreRequests })).toBe(false);
    expect(searches).toBe(1);
  });
});
