import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";

const folder = join(import.meta.dirname, "..", "..", "..", "crds");

/** Our custom resource definitions, without the conversion webhook: nobody serves it before the chart is installed. */
export async function readDefinitions(): Promise<readonly object[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort();
  const definitions = await Promise.all(files.map(async (name) => parse(await readFile(join(folder, name), "utf8"))));
  return definitions.map((definition) => ({
    ...definition,
    spec: { ...definition.spec, conversion: { strategy: "None" } },
  }));
}
