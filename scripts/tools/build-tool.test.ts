import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tools } from "./build-tool.ts";

const goModOf = (module: string) => readFileSync(join(import.meta.dirname, module, "go.mod"), "utf8");

describe.each(Object.entries(tools))("the pin of %s", (_name, { module, package: path, linkerFlags }) => {
  it("is a tool of its Go module", () => {
    expect(goModOf(module)).toMatch(new RegExp(`^(tool)?\\s*${path}$`, "m"));
  });

  it("stamps the version that the module pins, and no other", () => {
    const stamped = linkerFlags.match(/v\d+\.\d+\.\d+/g) ?? [];
    for (const version of stamped) expect(goModOf(module)).toMatch(new RegExp(` ${version}( |$)`, "m"));
  });
});
