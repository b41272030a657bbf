import { describe, expect, it } from "vitest";
import { isSystemReservedKey, normalizedCreator } from "./keys.ts";

describe("a key of a Pod template", () => {
  it.each([
    "agents.x-k8s.io/anything",
    "extensions.agents.x-k8s.io/anything",
    "opentelemetry.io/trace-context",
    "hibernation.rouse.dev/image",
  ])("%s is reserved for the system", (key) => {
    expect(isSystemReservedKey(key)).toBe(true);
  });

  it.each([
    "api.agents.x-k8s.io/v1alpha1-sandbox-state",
    "agents.x-k8s.io",
    "my.agents.x-k8s.io/key",
    "opentelemetry.io/other",
    "team",
  ])("%s is the user's own", (key) => {
    expect(isSystemReservedKey(key)).toBe(false);
  });
});

it("calls a creator that it does not know unknown", () => {
  expect(["go-client", "python-client", "controller", "me", ""].map(normalizedCreator)).toEqual([
    "go-client",
    "python-client",
    "controller",
    "unknown",
    "unknown",
  ]);
});
