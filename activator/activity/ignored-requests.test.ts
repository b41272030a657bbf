import { describe, expect, it } from "vitest";
import { isIgnored } from "./ignored-requests.ts";

const monitor = { target: "/health?deep=1", headers: [["User-Agent", "kube-probe/1.34"]] } as const;

describe("a request that neither wakes nor counts", () => {
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
  ])("fits all that a rule says: $rule is $fits", ({ rule, fits }) => {
    expect(isIgnored(monitor, { ignoreRequests: [rule] })).toBe(fits);
  });

  it("fits one of several rules, and none where there are none", () => {
    const ignoreRequests = [{ pathPrefix: "/other" }, { pathPrefix: "/health" }];
    expect(isIgnored(monitor, { ignoreRequests })).toBe(true);
    expect(isIgnored(monitor, undefined)).toBe(false);
    expect(isIgnored(monitor, {})).toBe(false);
  });
});
