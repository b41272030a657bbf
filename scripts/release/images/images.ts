import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compressFolder } from "../archive.ts";
import { type BaseImage, provideBase } from "../base/base-image.ts";
import { type Platform, platforms } from "../platforms.ts";
import { together } from "../together.ts";
import { createdAt, type Workplace } from "../workplace.ts";
import { mainFile, type Program, packagesOf } from "./image-packages.ts";
import { imageSettings } from "./image-settings.ts";
import { type OciArchive, writeOciArchive } from "./oci-archive.ts";
import { imageSbom, type NpmSbom } from "./sbom.ts";

export type ProgramImages = Readonly<Record<Program, OciArchive>>;

export type BaseImages = ReadonlyMap<Platform, BaseImage>;

/** Makes the base images of all platforms. They take nothing from the checkout. */
export async function makeBases(place: Workplace): Promise<BaseImages> {
  const made = await together(platforms.map((platform) => provideBase(place, platform)));
  return new Map(made.map((base) => [base.platform, base]));
}

/** Makes the images of all programs for all platforms, and writes their archives and SBOMs. */
export async function makeImages(place: Workplace, bases: BaseImages): Promise<ProgramImages> {
  const { run, checkout } = place;
  const npm: NpmSbom = JSON.parse(
    await run("npm", ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"], { directory: checkout }),
  );
  const ingredients = { bases, npm };
  const [controller, activator, agent] = await together([
    makeImage(place, "controller", ingredients),
    makeImage(place, "activator", ingredients),
    makeImage(place, "node-agent", ingredients),
  ]);
  return { controller, activator, "node-agent": agent };
}

interface Ingredients {
  readonly bases: BaseImages;
  readonly npm: NpmSbom;
}

async function makeImage(place: Workplace, program: Program, { bases, npm }: Ingredients): Promise<OciArchive> {
  const { crane, scratch, source, checkout, out, say } = place;
  say(`making the image of the ${program} ...`);
  const layer = await makeLayer(place, program);
  const packages = new Set(packagesOf(checkout, program).map(({ name, version }) => `${name}@${version}`));
  const manifests: string[] = [];
  for (const [{ architecture }, base] of bases) {
    const image = `${scratch}/${program}:${architecture}`;
    await crane.run("append", `--base=${base.image}`, `--new_layer=${layer}`, `--new_tag=${image}`);
    const digest = await configure(place, program, image);
    manifests.push(`--manifest=${scratch}/${program}@${digest}`);
    const contents = { program, architecture, digest, packages, base: base.components };
    const sbom = imageSbom(npm, { ...contents, version: source.version, created: createdAt(source) });
    mkdirSync(join(out, "sbom"), { recursive: true });
    const file = join(out, "sbom", `${program}-${source.version}-linux-${architecture}.cdx.json`);
    writeFileSync(file, `${JSON.stringify(sbom, undefined, 2)}\n`);
  }
  await crane.run("index", "append", ...manifests, `--tag=${scratch}/${program}:${source.version}`);
  return writeOciArchive(place, program, `images/${program}-${source.version}.oci.tar`);
}

/** The layer with the program, which has no part for one platform only. */
async function makeLayer(place: Workplace, program: Program): Promise<string> {
  const { checkout, work, run, source } = place;
  const root = join(work, "programs", program);
  const collect = ["scripts/collect-program.ts", mainFile(program), join(root, "app")];
  await run(process.execPath, collect, { directory: checkout });
  const layer = `${root}.tar.gz`;
  await compressFolder(root, layer, { epochSeconds: source.epochSeconds, run });
  return layer;
}

/** Says in an image how it runs, as its Dockerfile does, and what it is. Returns the digest of its manifest. */
function configure(place: Workplace, program: Program, image: string): Promise<string> {
  const { checkout, crane, source } = place;
  const { Env, ...settings } = imageSettings(readFileSync(join(checkout, `Dockerfile.${program}`), "utf8"));
  const created = createdAt(source);
  const Labels = {
    "org.opencontainers.image.title": program,
    "org.opencontainers.image.version": source.version,
    "org.opencontainers.image.revision": source.commit,
    "org.opencontainers.image.created": created,
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
  return crane.editConfig(image, image, (config) => ({
    ...config,
    created,
    // As a Dockerfile's ENTRYPOINT does, ours drops the base's CMD, which would become an argument.
    config: { ...config.config, Cmd: undefined, ...settings, Env: [...(config.config?.Env ?? []), ...Env], Labels },
    history: [
      ...(config.history ?? []).slice(0, -1),
      { created, created_by: `scripts/collect-program.ts ${mainFile(program)}` },
    ],
  }));
}
