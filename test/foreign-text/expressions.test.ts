import { describe, expect, it } from "vitest";
import { projectFiles } from "../support/project-files.ts";
import { attacksOn } from "./attacks.ts";
import { expressionsIn } from "./found-expressions.ts";
import { headBytes, tooSlow } from "./texts.ts";

/** Expressions in quadratic time, with the longest text that their callers pass. */
const bounded: Readonly<Record<string, number>> = {
  "api/rules/claimed-sandbox-name.ts: /-+$/": 63,
  "api/rules/condition-limits.ts: /[,:]+$/": 1_024,
  "apiserver/objects/garbage-events.ts: /[-.]+$/": 50,
  "kube/events/event-series.ts: /[-.]+$/": 253,
  "controller/template/make-network-policy.ts: /[-.]+$/": 253,
};

const folders = /^(activator|api|apiserver|controller|kube|lib|local|node\/agent)\/.*\.ts$/;
const programs = projectFiles().filter((file) => folders.test(file) && !file.endsWith(".test.ts"));
const found = programs.flatMap(expressionsIn);

const slowest = (expression: RegExp, length: number) =>
  tooSlow((text) => text.replace(expression, ""), attacksOn(expression, length));

describe("the expressions of the programs", () => {
  it.each(found)("match the longest text of any shape in linear time: $at", ({ at, expression }) => {
    expect(slowest(expression, bounded[at] ?? headBytes)).toBeUndefined();
  });

  it("are found as literals, in schemas, and where they are put together", () => {
    const files = ["apiserver/http/selectors.ts", "api/crd/shapes.ts", "apiserver/kinds/metadata/names.ts"];
    for (const file of files) expect(found.some(({ at }) => at.startsWith(file))).toBe(true);
  });

  it.each([
    /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/,
    /\$(\$|\(([^)]*)\))/g,
    /^<!--(a|aa)+-->$/,
  ])("would be found if they took quadratic time, such as %s", (expression) => {
    expect(slowest(expression, headBytes)).toBeDefined();
  });

  it.each(Object.keys(bounded))("that are bounded are there: %s", (at) => {
    expect(found.map((each) => each.at)).toContain(at);
  });
});
