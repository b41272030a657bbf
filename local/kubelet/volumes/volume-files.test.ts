import { describe, expect, it } from "vitest";
import { configMapBytes, secretBytes, selectFiles } from "./volume-files.ts";

const content = new Map([
  ["a", Buffer.from("A")],
  ["b", Buffer.from("B")],
]);

describe("the files of a volume", () => {
  it("are all keys, with mode 0644, by default", () => {
    expect(selectFiles(content, {}).map(({ path, mode }) => [path, mode])).toEqual([
      ["a", 0o644],
      ["b", 0o644],
    ]);
  });

  it("are only the items that are listed, at their paths, with their modes", () => {
    const items = [
      { key: "b", path: "x/y", mode: 0o400 },
      { key: "a", path: "z" },
    ];
    expect(selectFiles(content, { items, defaultMode: 0o600 }).map(({ path, mode }) => [path, mode])).toEqual([
      ["x/y", 0o400],
      ["z", 0o600],
    ]);
  });

  it("leave out an optional item, and wait for any other that is missing", () => {
    const items = [{ key: "no", path: "x" }];
    expect(selectFiles(content, { items, optional: true })).toEqual([]);
    expect(() => selectFiles(content, { items })).toThrow("references non-existent config key: no");
  });

  it.each(["../x", "/etc/passwd", "a/../../x"])("never lie outside of it, as %s would", (path) => {
    expect(() => selectFiles(content, { items: [{ key: "a", path }] })).toThrow("leaves its volume");
  });

  it("hold texts and bytes of a ConfigMap, and the bytes of a Secret", () => {
    const binary = Buffer.from([0, 255]);
    const base64 = binary.toString("base64");
    expect(configMapBytes({ metadata: {}, data: { t: "é" }, binaryData: { b: base64 } })).toEqual(
      new Map([
        ["t", Buffer.from("é")],
        ["b", binary],
      ]),
    );
    expect(secretBytes({ metadata: {}, data: { b: base64 } })).toEqual(new Map([["b", binary]]));
  });
});
