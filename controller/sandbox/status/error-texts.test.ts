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
const openTexts = () => {
  const clock = new FakeClock();
  return { clock, texts: new ErrorTexts(clock) };
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
  ["an address beside an error", ready("request 1"), { ...ready("request 2"), podIPs: ["10.1.0.5"] }],
])("%s is written at once", (_, before, after) => {
  const { texts } = openTexts();
  expect(texts.deferMs("a/nova", before, after)).toBeUndefined();
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
