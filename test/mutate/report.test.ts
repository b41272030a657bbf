import { expect, it } from "vitest";
import { report, type Verdict } from "./report.ts";

const verdict = (outcome: Verdict["outcome"], more: Partial<Verdict> = {}): Verdict => ({
  folder: "kube",
  mutant: { id: outcome, file: "kube/a.ts", line: 7, start: 0, end: 4, original: "a<b", by: "a<=b" },
  outcome,
  ...more,
});

it("a report counts by folder, counts an endless loop as detected, and lists undetected faults", () => {
  const page = report([verdict("killed"), verdict("timedOut"), verdict("survived"), verdict("uncovered")], "seed 1");
  expect(page).toContain("| kube | 4 | 2 | 0 | 0 | 0 | 2 | 50 % |");
  expect(page).toContain("- kube/a.ts:7 (survived): `` a<b `` becomes `` a<=b ``\n");
  expect(page).not.toContain("(killed");
});

it("a report tells apart which tests detected a fault, and leaves out faults that change no behaviour", () => {
  const verdicts = [
    verdict("killed"),
    verdict("killed", { by: "another" }),
    verdict("killed", { by: "new" }),
    verdict("survived"),
    verdict("equivalent", { why: "Neither is ever empty." }),
  ];
  const page = report(verdicts, "seed 1");
  expect(page).toContain("| all | 5 | 1 | 1 | 1 | 1 | 1 | 75 % |");
  expect(page).toContain("(equivalent): `` a<b `` becomes `` a<=b ``. Neither is ever empty.");
});
