import { expect, it } from "vitest";
import type { Condition } from "../../../api/kinds/meta.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { ErrorTexts } from "./error-texts.ts";

const ready = (message: string, more: Partial<Condition> = {}) => ({
  conditions: [
    {
      ...{ type: "Ready", status: "False", reason: "ReconcilerError", message },
      ...{ lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1, ...more },
    } satisfies Condition,
  ],
});
const expired = (message: string) => ready(message, { reason: "SandboxExpired" });
const openTexts = () => {
  const clock = new FakeClock();
  return { clock, texts: new ErrorTexts(clock, { reason: "SandboxExpired", message: "Sandbox has expired" }) };
};

it("another text for the same error is deferred, for twice as long each time", async () => {
  const { clock, texts } = openTexts();
  const waits: number[] = [];
  for (let text = 1; text <= 9; text += 1) {
    const deferMs = () => texts.deferMs("a/nova", ready(`request ${text}`), ready(`request ${text + 1}`));
    const waitMs = deferMs() ?? 0;
    waits.push(waitMs / 1_000);
    await clock.advance(waitMs - 1);
    expect(deferMs()).toBe(1);
    await clock.advance(1);
    expect(deferMs()).toBeUndefined();
    // The pass that this write causes, with the same text.
    expect(texts.deferMs("a/nova", ready(`request ${text + 1}`), ready(`request ${text + 1}`))).toBeUndefined();
  }
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600]);
});

it.each([
  ["the first error", undefined, ready("request 1")],
  ["an error of a newer generation", ready("request 1"), ready("request 2", { observedGeneration: 2 })],
  ["another reason", ready("request 1"), ready("request 2", { reason: "InvalidConfiguration" })],
  ["the end of an error", ready("request 1"), ready("", { status: "True", reason: "DependenciesReady" })],
  ["the first error of an expiry", expired("Sandbox has expired"), expired("request 1")],
  ["the end of the error of an expiry", expired("request 1"), expired("Sandbox has expired")],
  ["an address beside an error", ready("request 1"), { ...ready("request 2"), podIPs: ["10.1.0.5"] }],
])("%s is written at once", (_, before, after) => {
  const { texts } = openTexts();
  expect(texts.deferMs("a/nova", before, after)).toBeUndefined();
});

it("another text for the same error of an expiry is deferred", () => {
  const { texts } = openTexts();
  expect(texts.deferMs("a/nova", expired("request 1"), expired("request 2"))).toBe(5_000);
});

it("an error that returns is deferred as at first", async () => {
  const { clock, texts } = openTexts();
  expect(texts.deferMs("a/nova", ready("request 1"), ready("request 2"))).toBe(5_000);
  await clock.advance(5_000);
  expect(texts.deferMs("a/nova", ready("request 1"), ready("request 2"))).toBeUndefined();
  const well = ready("", { status: "True", reason: "DependenciesReady" });
  expect(texts.deferMs("a/nova", ready("request 2"), well)).toBeUndefined();
  expect(texts.deferMs("a/nova", ready("request 3"), ready("request 4"))).toBe(5_000);
});
