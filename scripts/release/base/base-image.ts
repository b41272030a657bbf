import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compressFolder } from "../archive.ts";
import type { Component } from "../images/sbom.ts";
import type { Platform } from "../platforms.ts";
import { createdAt, type Workplace } from "../workplace.ts";
import { makeBaseRoot } from "./base-root.ts";
import type { BasePackages } from "./fetch-packages.ts";

/** The base image of one platform, as it is in the scratch registry. */
export interface BaseImage {
  readonly platform: Platform;
  readonly image: string;
  /** What it contains, as far as this is known. */
  readonly components: readonly Component[];
}

/** Takes the base image that was named, or makes one from packages. */
export function provideBase(place: Workplace, platform: Platform): Promise<BaseImage> {
  const { base } = place;
  if (base.kind === "image") return copyBase(place, base.name, platform);
  const packages = base.packages.get(platform);
  if (packages === undefined) throw new Error(`there are no packages for linux/${platform.architecture}`);
  return makeBase(place, platform, packages);
}

async function copyBase(place: Workplace, name: string, platform: Platform): Promise<BaseImage> {
  const { architecture } = platform;
  const image = `${place.scratch}/base:${architecture}`;
  await place.crane.run("copy", `--platform=linux/${architecture}`, name, image);
  const digest = (await place.crane.run("digest", image)).trim();
  const component: Component = { type: "container", "bom-ref": `base@${digest}`, name, version: digest };
  return { platform, image, components: [component] };
}

async function makeBase(place: Workplace, platform: Platform, packages: BasePackages): Promise<BaseImage> {
  const { architecture } = platform;
  const { crane, run, scratch, source, work, say } = place;
  say(`making the base image for linux/${architecture} ...`);
  const folder = join(work, "base", architecture);
  const root = join(folder, "root");
  await makeBaseRoot(packages, root, run);
  const layer = join(folder, "layer.tar.gz");
  await compressFolder(root, layer, { epochSeconds: source.epochSeconds, run });
  const image = `${scratch}/base:${architecture}`;
  await crane.run("append", "--oci-empty-base", `--new_layer=${layer}`, `--new_tag=${image}`);
  const created = createdAt(source);
  await crane.editConfig(image, image, (config) => ({
    ...config,
    architecture,
    os: "linux",
    created,
    config: { Env: ["PATH=/usr/local/bin:/usr/bin:/bin"], Cmd: ["node"] },
    history: [{ created, created_by: "packages of Debian and npm" }],
  }));
  return {
    platform,
    image,
    components: componentsOf(packages, readFileSync(join(root, "etc/os-release"), "utf8")),
  };
}

/** Package URLs: https://github.com/package-url/purl-spec. */
function componentsOf({ debian, node }: BasePackages, osRelease: string): readonly Component[] {
  const value = (name: string) => new RegExp(`^${name}="?([^"\n]+)`, "m").exec(osRelease)?.[1] ?? "unknown";
  const distribution = value("ID");
  const components: Component[] = debian.map(({ name, version, architecture, sha256 }) => {
    const purl = `pkg:deb/${distribution}/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${distribution}-${value("VERSION_ID")}`;
    return {
      type: "library",
      "bom-ref": purl,
      name,
      version,
      purl,
      hashes: [{ alg: "SHA-256", content: sha256 }],
    };
  });
  const purl = `pkg:npm/${node.name}@${node.version}`;
  return [
    ...components,
    {
      type: "application",
      "bom-ref": purl,
      name: "node",
      version: node.version,
      cpe: `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`,
      purl,
      licenses: [{ license: { id: "MIT" } }],
      hashes: [{ alg: "SHA-512", content: node.sha512 }],
    },
  ];
}
