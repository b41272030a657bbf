import { describe, expect, it } from "vitest";
import { aSandbox, noon } from "../../test/support/builders/builders.ts";
import { expiryRecheckMs, isExpired } from "./expiry.ts";

describe("the expiry of a Sandbox", () => {
  it.each([
    { id: "without a shutdownTime", shutdownTime: undefined, expired: false, recheckMs: undefined },
    { id: "at its shutdownTime", shutdownTime: noon, expired: true, recheckMs: 2_000 },
    { id: "half a second before", shutdownTime: "2026-01-01T12:00:00.5Z", expired: false, recheckMs: 2_000 },
    { id: "with an offset of a day", shutdownTime: "2025-01-01T12:00:00+24:00", expired: false, recheckMs: undefined },
    { id: "with a second T", shutdownTime: "2025-01-01T12:00:00ZT", expired: false, recheckMs: undefined },
    { id: "with a comma", shutdownTime: "2026-01-01T12:00:10,5Z", expired: false, recheckMs: 10_500 },
    { id: "ten seconds before", shutdownTime: "2026-01-01T12:00:10Z", expired: false, recheckMs: 10_000 },
  ])("expired is $expired, checked again after $recheckMs ms", ({ shutdownTime, expired, recheckMs }) => {
    const sandbox = aSandbox(shutdownTime === undefined ? {} : { shutdownTime });
    expect(isExpired(sandbox, new Date(noon))).toBe(expired);
    expect(expiryRecheckMs(sandbox, new Date(noon))).toBe(recheckMs);
  });
});
