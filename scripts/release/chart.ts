import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { compressFolder } from "./archive.ts";
import type { ProgramImages } from "./images/images.ts";
import { type OciArchive, writeOciArchive } from "./images/oci-archive.ts";
import type { Workplace } from "./workplace.ts";

const chartName = "charts/rouse";

/** Makes the chart, which takes the images of this release by their digests, and writes it as Helm and as registries have it. */
export async function makeChart(place: Workplace, images: ProgramImages): Promise<OciArchive> {
  const { checkout, work, out, run, source, scratch, registry, helm, say } = place;
  say("making the chart ...");
  const folder = join(work, "chart");
  cpSync(join(checkout, chartName), join(folder, "rouse"), { recursive: true });
  const valuesFile = join(folder, "rouse", "values.yaml");
  writeFileSync(valuesFile, chartValues(readFileSync(valuesFile, "utf8"), registry, images));
  mkdirSync(join(out, "charts"), { recursive: true });
  const archive = join(out, "charts", `rouse-${source.version}.tgz`);
  await compressFolder(folder, archive, { epochSeconds: source.epochSeconds, run });

  const home = join(work, "helm");
  const environment = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  const runHelm = (...args: readonly string[]) => run(helm, args, { environment });
  await runHelm("push", archive, `oci://${scratch}/charts`, "--plain-http");
  const rendered = await runHelm(
    ...["template", "rouse", `oci://${scratch}/${chartName}`, "--plain-http", "--set=hibernation.enabled=true"],
  );
  for (const { name, digest } of Object.values(images)) {
    if (!rendered.includes(`"${registry}/${name}@${digest}"`)) {
      throw new Error(`the chart does not install ${name}@${digest}`);
    }
  }
  return writeOciArchive(place, chartName, `charts/rouse-${source.version}.oci.tar`);
}

/** The values of the chart, with the images of a release as defaults. Comments stay. */
export function chartValues(text: string, registry: string, images: ProgramImages): string {
  const values = parseDocument(text);
  const set = (path: readonly string[], value: string) => {
    if (!values.hasIn(path)) throw new Error(`the chart has no value ${path.join(".")}`);
    values.setIn(path, value);
  };
  for (const [path, { name, digest }] of [
    [["image"], images.controller],
    [["activator", "image"], images.activator],
    [["hibernation", "agent", "image"], images["node-agent"]],
  ] as const) {
    set([...path, "repository"], `${registry}/${name}`);
    set([...path, "digest"], digest);
  }
  return values.toString({ lineWidth: 0, flowCollectionPadding: false });
}
