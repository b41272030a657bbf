import { expect, it } from "vitest";
import { aSandbox } from "../../../test/support/builders/builders.ts";
import { refusalToSleep } from "./strategy.ts";

const hibernate = { type: "Hibernate" } as const;

it("a refusal keeps a sandbox awake only with onFailure StayAwake", () => {
  const refusal = { reason: "NoProvider", message: "the controller runs without --hibernation" } as const;
  const withFailure = (onFailure?: "Stop" | "StayAwake") =>
    aSandbox({ suspensionStrategy: { ...hibernate, ...(onFailure && { onFailure }) } });
  expect(refusalToSleep(withFailure("StayAwake"), refusal)).toBe(refusal);
  expect(refusalToSleep(withFailure("StayAwake"), undefined)).toBeUndefined();
  expect(refusalToSleep(withFailure("Stop"), refusal)).toBeUndefined();
  expect(refusalToSleep(withFailure(), refusal)).toBeUndefined();
});
