import { describe, expect, it } from "vitest";
import { strategicMergePatch } from "./strategic-merge-patch.ts";

const containers = (...items: readonly object[]) => ({ spec: { containers: items } });
const main = { name: "main", image: "a", ports: [{ containerPort: 80 }], env: [{ name: "A", value: "1" }] };
const side = { name: "side", image: "b" };

describe("a strategic merge patch", () => {
  it("merges items by their key, adds new ones, and leaves the others alone", () => {
    const patch = containers({ name: "main", env: [{ name: "B", value: "2" }] }, { name: "new", image: "c" });
    expect(strategicMergePatch(containers(main, side), patch)).toEqual(
      containers({ ...main, env: [{ name: "B", value: "2" }, ...main.env] }, { name: "new", image: "c" }, side),
    );
  });

  it("removes an item", () => {
    const patch = containers({ name: "main", $patch: "delete" });
    expect(strategicMergePatch(containers(main, side), patch)).toEqual(containers(side));
  });

  it("replaces an item, a list and an object", () => {
    const item = containers({ name: "main", image: "z", $patch: "replace" });
    expect(strategicMergePatch(containers(main), item)).toEqual(containers({ name: "main", image: "z" }));
    const list = containers({ $patch: "replace" }, { name: "only" });
    expect(strategicMergePatch(containers(main, side), list)).toEqual(containers({ name: "only" }));
    const object = { spec: { $patch: "replace", nodeName: "n" } };
    expect(strategicMergePatch(containers(main), object)).toEqual({ spec: { nodeName: "n" } });
  });

  it("removes an object and a field", () => {
    expect(strategicMergePatch({ a: { b: 1 }, c: 2, d: 3 }, { a: { $patch: "delete" }, c: null })).toEqual({ d: 3 });
  });

  it("keeps only the keys in $retainKeys", () => {
    const target = { spec: { volumes: [{ name: "v", emptyDir: {} }] } };
    const patch = { spec: { volumes: [{ name: "v", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }] } };
    expect(strategicMergePatch(target, patch)).toEqual({
      spec: { volumes: [{ name: "v", secret: { secretName: "s" } }] },
    });
  });

  it("adds to and takes from sets of plain values", () => {
    const target = { metadata: { finalizers: ["a", "b"] } };
    expect(strategicMergePatch(target, { metadata: { finalizers: ["b", "c"] } })).toEqual({
      metadata: { finalizers: ["a", "b", "c"] },
    });
    expect(strategicMergePatch(target, { metadata: { "$deleteFromPrimitiveList/finalizers": ["a"] } })).toEqual({
      metadata: { finalizers: ["b"] },
    });
  });

  it("sorts items into the given order", () => {
    const patch = {
      spec: {
        "$setElementOrder/containers": [{ name: "side" }, { name: "main" }],
        containers: [{ name: "side", image: "x" }],
      },
    };
    expect(strategicMergePatch(containers(main, side), patch)).toEqual(containers({ ...side, image: "x" }, main));
  });

  it("replaces lists that have no key, and keys ports by where they are", () => {
    expect(strategicMergePatch({ spec: { tolerations: [1] } }, { spec: { tolerations: [2] } })).toEqual({
      spec: { tolerations: [2] },
    });
    const service = { spec: { ports: [{ port: 80, name: "http" }] } };
    expect(strategicMergePatch(service, { spec: { ports: [{ port: 80, targetPort: 8080 }] } })).toEqual({
      spec: { ports: [{ port: 80, name: "http", targetPort: 8080 }] },
    });
    expect(strategicMergePatch({ ports: [{ port: 80 }] }, { ports: [{ port: 81 }] })).toEqual({
      ports: [{ port: 81 }],
    });
  });

  it("leaves no directive if there was no object to merge with", () => {
    const patch = { spec: { "$setElementOrder/containers": [{ name: "a" }], containers: [{ name: "a" }] } };
    expect(strategicMergePatch({}, patch)).toEqual(containers({ name: "a" }));
  });

  it("refuses an item without its key and a directive that it does not know", () => {
    expect(() => strategicMergePatch(containers(main), containers({ image: "x" }))).toThrow("merge key: name");
    expect(() => strategicMergePatch({ a: {} }, { a: { $patch: "explode" } })).toThrow("Unknown patch type: explode");
  });

  it("leaves its target as it is", () => {
    const target = Object.freeze({ metadata: Object.freeze({ finalizers: Object.freeze(["a"]) }) });
    strategicMergePatch(target, { metadata: { finalizers: ["b"], labels: { x: "y" } } });
    expect(target).toEqual({ metadata: { finalizers: ["a"] } });
  });
});
