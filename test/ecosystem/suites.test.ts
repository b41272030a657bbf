import { expect, it } from "vitest";
import { endingIn } from "./suites.ts";

it.each([
  ["--- PASS: TestSimpleSandbox (8.41s)", { passed: true, text: "--- PASS: TestSimpleSandbox (8.41s)" }],
  [
    "    --- FAIL: TestWarmPoolRollout/recreate (7.50s)",
    { passed: false, text: "--- FAIL: TestWarmPoolRollout/recreate (7.50s)" },
  ],
  [
    "--- SKIP: TestRuntimeClassLifecycle (0.00s)",
    { passed: true, text: "--- SKIP: TestRuntimeClassLifecycle (0.00s)" },
  ],
  ["=== RUN   TestSimpleSandbox", undefined],
  ['    basic_test.go:153: said "--- FAIL: " itself', undefined],
])("the line %j is read as %j", (line, outcome) => {
  expect(endingIn(line)).toEqual(outcome);
});
