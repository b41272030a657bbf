import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { archiveFolder } from "../archive.ts";
import type { Workplace } from "../workplace.ts";

export interface OciArchive {
  /** Below the release's folder. */
  readonly file: string;
  /** Below the registry, such as `controller`. */
  readonly name: string;
  /** Of the manifest, or of the index if there are several. */
  readonly digest: string;
}

/**
 * Takes an image or an artifact out of the scratch registry as an archive of an OCI image layout
 * (https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md), which names it as it will be published.
 */
export async function writeOciArchive(place: Workplace, name: string, file: string): Promise<OciArchive> {
  const { crane, scratch, source, work, out, registry, run } = place;
  const image = `${scratch}/${name}:${source.version}`;
  const layout = join(work, "layouts", name);
  mkdirSync(dirname(layout), { recursive: true });
  await crane.run("pull", "--format=oci", image, layout);
  const indexFile = join(layout, "index.json");
  const index = JSON.parse(readFileSync(indexFile, "utf8"));
  for (const manifest of index.manifests) {
    manifest.annotations = {
      "io.containerd.image.name": `${registry}/${name}:${source.version}`,
      "org.opencontainers.image.ref.name": source.version,
    };
  }
  writeFileSync(indexFile, JSON.stringify(index));
  mkdirSync(dirname(join(out, file)), { recursive: true });
  await archiveFolder(layout, join(out, file), { epochSeconds: source.epochSeconds, run });
  return { file, name, digest: (await crane.run("digest", image)).trim() };
}
