import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { allDefinitions } from "./definitions.ts";
import { manifestPath, manifestText } from "./manifest.ts";

const root = join(import.meta.dirname, "..", "..");
const folder = join(root, "crds");
const chartFolder = join(root, "charts", "rouse", "files", "crds");
const definitions = allDefinitions();

it("crds/ holds one file for each kind, and nothing else", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".yaml"));
  expect(files.sort()).toEqual(definitions.map(manifestPath).sort());
});

it.each(definitions.map((definition) => ({ file: manifestPath(definition), definition })))(
  "crds/$file and the chart's copy are what npm run generate writes",
  ({ file, definition }) => {
    const text = readFileSync(join(folder, file), "utf8");
    expect(text).toBe(manifestText(definition));
    expect(parse(text)).toEqual(definition);
    expect(readFileSync(join(chartFolder, file), "utf8")).toBe(text);
  },
);

it.each(definitions.map((definition) => ({ file: manifestPath(definition), definition })))(
  "crds/$file fits into the annotation that kubectl apply keeps of it",
  ({ definition }) => {
    // All annotations of an object together may have 256 KiB (the API server's own limit).
    expect(JSON.stringify(definition).length).toBeLessThan(256 * 1024 * 0.9);
  },
);
