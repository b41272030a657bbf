import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parse } from "yaml";
import type { ProgramImages } from "./images/images.ts";
import type { Workplace } from "./workplace.ts";

/** Writes the definitions, and everything that a cluster needs, each as one manifest. */
export function writeManifests(place: Workplace, images: ProgramImages): void {
  const { checkout, out, source, registry } = place;
  const read = (file: string) => readFileSync(join(checkout, file), "utf8");
  const folder = join(out, "manifests");
  mkdirSync(folder, { recursive: true });
  const files = resourcesOf("k8s/kustomization.yaml", read);
  const definitions = files.filter((file) => file.startsWith("charts/"));
  // The namespace first: most of the rest is in it.
  const order = ["k8s/namespace.yaml", ...definitions, ...files.filter((file) => file.startsWith("k8s/"))];
  const title = `# Rouse ${source.version}`;
  const concatenate = (names: Iterable<string>) => oneManifest([...names].map(read));
  writeFileSync(join(folder, "crds.yaml"), `${title}: the definitions of the kinds\n${concatenate(definitions)}`);
  const install = withImages(concatenate(new Set(order)), { version: source.version, registry, images });
  writeFileSync(join(folder, "install.yaml"), `${title}\n${install}`);
}

/** Several manifests as one. What is before the first document of a file, such as who generated it, is left out. */
export const oneManifest = (texts: readonly string[]): string =>
  texts.map((text) => text.replace(/^(#.*\n)*---\n/, "")).join("---\n");

/** The files that a kustomization names, those of the folders in it included, from the repository's root. */
function resourcesOf(kustomization: string, read: (file: string) => string): readonly string[] {
  const { resources }: { readonly resources: readonly string[] } = parse(read(kustomization));
  return resources.flatMap((resource) => {
    const path = normalize(join(dirname(kustomization), resource));
    return path.endsWith(".yaml") ? [path] : resourcesOf(join(path, "kustomization.yaml"), read);
  });
}

export interface ReleasedImages {
  readonly version: string;
  readonly registry: string;
  readonly images: ProgramImages;
}

/**
 * Puts the digests of a release in place of the images that the manifests of the repository name.
 *
 * @throws when an image is named nowhere, or an image stays without a digest.
 */
export function withImages(manifest: string, { version, registry, images }: ReleasedImages): string {
  let text = manifest;
  // The manifests do not have the node agent.
  for (const { name, digest } of [images.controller, images.activator]) {
    const placeholder = `image: rouse.dev/${name}:${version}\n`;
    if (!text.includes(placeholder)) throw new Error(`no manifest has "${placeholder.trim()}"`);
    text = text.replaceAll(placeholder, `image: ${registry}/${name}@${digest}\n`);
  }
  const left = /rouse\.dev\/\S+:\S+/.exec(text);
  if (left !== null) throw new Error(`a manifest still has ${left[0]}`);
  return text;
}
