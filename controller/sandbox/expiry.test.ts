import { describe, expect, it } from "vitest";
import { aSandbox, noon } from "../../test/support/builders.ts";
import { expiryRecheckMs, isExpired } from "./expiry.ts";

describe("the expiry of a Sandbox", () => {
  it.each([
    { id: "S97: without a shutdownTime", shutdownTime: undefined, expired: false, recheckMs: undefined },
    { id: "S98: at its shutdownTime", shutdownTime: noon, expired: true, recheckMs: 2_000 },
    { id: "S99: half a second before", shutdownTime: "2026-01-01T12:00:00.5Z", expired: false, recheckMs: 2_000 },
    { id: "S100: ten seconds before", shutdownTime: "2026-01-01T12:00:10Z", expired: false, recheckMs: 10_000 },
  ])("$id: expired is $expired, looked at again after $recheckMs ms", ({ shutdownTime, expired, recheckMs }) => {
    const sandbox = aSandbox(shutdownTime === undefined ? {} : { shutdownTime });
    expect(isExpired(sandbox, new Date(noon))).toBe(expired);
    expect(expiryRecheckMs(sandbox, new Date(noon))).toBe(recheckMs);
  });
});
