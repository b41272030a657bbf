import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inputsOf, tools } from "./build-tool.ts";

const goModOf = (module: string) => readFileSync(join(import.meta.dirname, module, "go.mod"), "utf8");

describe.each(Object.entries(tools))("the pin of %s", (_name, { module, package: path, linkerFlags }) => {
  it("is a tool of its Go module, or the module itself", () => {
    expect(goModOf(module)).toMatch(new RegExp(`^(tool|module)?\\s*${path}$`, "m"));
  });

  it("stamps the version that the module pins, and no other", () => {
    const stamped = linkerFlags.match(/v\d+\.\d+\.\d+[\w.-]*/g) ?? [];
    for (const version of stamped) expect(goModOf(module)).toMatch(new RegExp(` ${version}( |$)`, "m"));
  });
});

describe("the files that a tool is built from", () => {
  it("are the Go files of its folder if it is our own, without the tests", () => {
    const ours = [
      ...["claim", "config", "image", "join", "killed", "main", "marks", "seam", "sentry"],
      ...["signature", "store", "tombstone", "unknown", "untold"],
    ];
    expect(inputsOf(tools["containerd-shim-rouse-v1"])).toEqual([
      "go.mod",
      "go.sum",
      ...ours.map((name) => `${name}.go`),
    ]);
  });

  it("are only the pins if it is another project's, also in the folder of our own", () => {
    expect(inputsOf(tools.runsc)).toEqual(["go.mod", "go.sum"]);
  });
});
