import { expect, it } from "vitest";
import { FencedPods } from "./fenced-pods.ts";

it("a fenced Pod is one of the sandbox that the report names, and of no other", () => {
  const fenced = new FencedPods(() => undefined);
  fenced.heard("one", [{ sandbox: { namespace: "b", name: "vega", uid: "vega" }, podUid: "pod" }]);
  expect([fenced.has("vega", "pod"), fenced.has("nova", "pod")]).toEqual([true, false]);
  fenced.keep(new Set());
  expect(fenced.has("vega", "pod")).toBe(false);
});
