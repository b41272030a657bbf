import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { run } from "../../../../cluster/command.ts";
import { defaultCacheDirectory, findModule, findOrBuild } from "../../../../scripts/tools/build-tool.ts";

const programs = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "helm"] as const;
export type HelmTestTools = Readonly<Record<(typeof programs)[number], string>>;

/** The folders of the charts of the existing controller. */
export interface FormerCharts {
  readonly "v0.4.6": string;
  readonly "v0.5.6": string;
}

declare module "vitest" {
  interface ProvidedContext {
    readonly tools: HelmTestTools;
    readonly formerCharts: FormerCharts;
  }
}

/** Builds what is missing, and unpacks the charts of the existing controller. */
export default async function provideTools({ provide }: TestProject): Promise<() => Promise<void>> {
  const environment = process.env;
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const cacheDirectory = defaultCacheDirectory(environment);
  const paths: Record<string, string> = {};
  for (const name of programs) {
    const path = await findOrBuild(name, { cacheDirectory, environment, say });
    if (path === undefined) throw new Error(`cannot build ${name}: install Go 1.26 or newer`);
    paths[name] = path;
  }
  provide("tools", paths as unknown as HelmTestTools);
  const module = await findModule("agent-sandbox", "sigs.k8s.io/agent-sandbox", { environment });
  const unpacked = (await run("mktemp", ["--directory", "--tmpdir", "rouse-charts-XXXXXX"])).trim();
  const older = join(module, "test", "migration", "testdata", "v0.4.6", "helm-v0.4.6.tar.gz");
  await run("tar", ["--extract", `--file=${older}`, `--directory=${unpacked}`]);
  const [chartFile = ""] = (await run("find", [unpacked, "-name", "Chart.yaml"])).split("\n");
  provide("formerCharts", { "v0.4.6": join(chartFile, ".."), "v0.5.6": join(module, "helm") });
  return async () => void (await run("rm", ["-r", unpacked]));
}
