import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, succeeds } from "../command.ts";
import type { BuiltPrograms } from "../components.ts";
import type { Gvisor } from "../gvisor.ts";
import type { ProductImages } from "../images/product.ts";
import type { Layout } from "../layout.ts";

const chart = join(import.meta.dirname, "..", "..", "charts", "rouse");
export const release = { name: "rouse", namespace: "agent-sandbox-system" } as const;

/** Installs or upgrades the chart with the images of this checkout. Does nothing if neither has changed. */
export async function installChart(
  layout: Layout,
  { helm, gvisor }: Pick<BuiltPrograms, "helm" | "gvisor">,
  images: ProductImages,
): Promise<void> {
  const agent = images["node-agent"];
  const values = {
    image: imageValues(images.controller),
    activator: { image: imageValues(images.activator) },
    ...(gvisor && agent && { hibernation: hibernationValues(gvisor, agent) }),
  };
  const wanted = hashOf(JSON.stringify(values));
  const inRelease = [`--kubeconfig=${layout.kubeconfig("admin")}`, `--namespace=${release.namespace}`];
  const installed = existsSync(layout.installed) && readFileSync(layout.installed, "utf8") === wanted;
  if (installed && (await succeeds(helm, ["status", release.name, ...inRelease]))) return;
  await run(
    helm,
    [
      "upgrade",
      release.name,
      chart,
      "--install",
      "--create-namespace",
      ...inRelease,
      "--values=-",
      "--wait",
      "--timeout=240s",
    ],
    JSON.stringify(values),
  );
  writeFileSync(layout.installed, wanted);
}

const hibernationValues = ({ runsc }: Gvisor, image: string) => ({
  enabled: true,
  agent: { image: imageValues(image), runsc },
});

function imageValues(image: string) {
  const [repository, tag] = image.split(":");
  return { repository, tag };
}

function hashOf(values: string): string {
  const hash = createHash("sha256").update(values);
  const files = globSync("**/*", { cwd: chart, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map((entry) => join(entry.parentPath, entry.name)).sort()) hash.update(readFileSync(path));
  return hash.digest("hex");
}
