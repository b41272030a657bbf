import { expect, it } from "vitest";
import { report, type Verdict } from "./report.ts";

const verdict = (outcome: Verdict["outcome"]): Verdict => ({
  folder: "kube",
  mutant: { id: outcome, file: "kube/a.ts", line: 7, start: 0, end: 4, original: "a<b", by: "a<=b" },
  outcome,
});

it("a report counts by folder, counts an endless loop as detected, and lists undetected faults", () => {
  const page = report([verdict("killed"), verdict("timedOut"), verdict("survived"), verdict("uncovered")], "seed 1");
  expect(page).toContain("| kube | 4 | 1 | 1 | 1 | 1 | 50 % |");
  expect(page).toContain("kube/a.ts:7 (survived, survived)\n\n```diff\n- a<b\n+ a<=b\n```");
  expect(page).not.toContain("(killed");
});
