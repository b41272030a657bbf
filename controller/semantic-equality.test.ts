import { describe, expect, it } from "vitest";
import { semanticallyEqual } from "./semantic-equality.ts";

const requests = (cpu: string | number) => ({ resources: { requests: { cpu } } });

describe("two values of the Kubernetes API mean the same", () => {
  it.each([
    ["absent and empty", { labels: {} }, {}],
    ["null and an empty list", { ports: null }, { ports: [] }],
    ["empty all the way down", { metadata: { labels: {} } }, undefined],
    ["quantities by value", requests("1000m"), requests(1)],
    ["quantities in powers of two and ten", { limits: { memory: "1Ki" } }, { limits: { memory: "1024" } }],
    ["quantities with exponent and fraction", { limits: { memory: "1.5e3" } }, { limits: { memory: "1.5k" } }],
    ["tiny quantities", { sizeLimit: "1000000n" }, { sizeLimit: "1m" }],
    ["times by instant", { renewTime: "2026-01-01T12:00:00Z" }, { renewTime: "2026-01-01T13:00:00.000+01:00" }],
  ])("%s", (_, a, b) => {
    expect(semanticallyEqual(a, b)).toBe(true);
    expect(semanticallyEqual(b, a)).toBe(true);
  });
});

describe("two values of the Kubernetes API differ", () => {
  it.each([
    ["in a word", { a: "1" }, { a: "2" }],
    ["in the order of a list", ["a", "b"], ["b", "a"]],
    ["in the length of a list", ["a"], ["a", "b"]],
    ["in kind", { a: {} }, { a: "x" }],
    ["a list and an object", { a: ["x"] }, { a: { 0: "x" } }],
    ["in a member that only one has", { a: 1 }, { a: 1, b: false }],
    ["a selector of everything and none", { from: [{ namespaceSelector: {} }] }, { from: [{}] }],
    ["a selector of everything and null", { labelSelector: { matchLabels: {} } }, { labelSelector: null }],
    ["in a quantity", requests("1"), requests("1m")],
    ["a label whose value resembles a quantity", { labels: { size: "1000m" } }, { labels: { size: "1" } }],
    [
      "a label whose name is that of a quantity",
      { matchLabels: { divisor: "1000m" } },
      { matchLabels: { divisor: "1" } },
    ],
    [
      "a node label that resembles a quantity",
      { nodeSelector: { sizeLimit: "1000m" } },
      { nodeSelector: { sizeLimit: "1" } },
    ],
    [
      "an attribute that resembles a time",
      { volumeAttributes: { startTime: "2026-01-01T12:00:00Z" } },
      { volumeAttributes: { startTime: "2026-01-01T13:00:00+01:00" } },
    ],
    ["a selector of all volumes and none", { spec: { selector: {} } }, { spec: {} }],
    ["an empty volume of one sort and of another", [{ name: "v", emptyDir: {} }], [{ name: "v", downwardAPI: {} }]],
    ["in text that is no quantity", requests("lots"), requests("more")],
  ])("%s", (_, a, b) => {
    expect(semanticallyEqual(a, b)).toBe(false);
    expect(semanticallyEqual(b, a)).toBe(false);
  });
});
