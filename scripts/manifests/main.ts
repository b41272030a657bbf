// Writes `k8s/` and the chart's copies of the definitions from the chart and from `crds/`: `npm run generate:manifests`.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defaultCacheDirectory, findOrBuild } from "../tools/build-tool.ts";
import { renderManifests } from "./render-manifests.ts";

const say = (line: string) => void process.stderr.write(`${line}\n`);
const cacheDirectory = defaultCacheDirectory(process.env);
const helm = await findOrBuild("helm", { cacheDirectory, environment: process.env, say });
if (helm === undefined) throw new Error("the chart is rendered by Helm, which is built with Go 1.26 or newer");
for (const [path, text] of renderManifests(helm)) {
  const file = join(import.meta.dirname, "..", "..", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
