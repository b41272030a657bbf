import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { byCodeUnits } from "../../../lib/data/by-code-units.ts";
import type { Run } from "../command.ts";
import type { Platform } from "../platforms.ts";

/** What Node is linked to, the authorities that it trusts, and what says which distribution this is. */
const debianPackages = ["base-files", "ca-certificates", "libc6", "libgcc-s1", "libstdc++6"];

export interface PackageFile {
  readonly path: string;
  readonly name: string;
  readonly version: string;
}

/** The files that a base image is made from. */
export interface BasePackages {
  readonly debian: readonly (PackageFile & { readonly architecture: string; readonly sha256: string })[];
  readonly node: PackageFile & { readonly sha512: string };
}

/**
 * Downloads the packages of one platform: Debian's by apt, from the sources of this machine and with its keys, so for a foreign
 * architecture too; Node by npm, which checks what the registry says of it.
 *
 * @throws when this machine has no apt, or a package cannot be had. Nothing is replaced by something else.
 */
export async function fetchPackages(
  platform: Platform,
  nodeVersion: string,
  folder: string,
  run: Run,
): Promise<BasePackages> {
  try {
    const debian = await fetchDebian(platform, join(folder, "debian"), run);
    return { debian, node: await fetchNode(platform.nodePackage, nodeVersion, { folder: join(folder, "npm"), run }) };
  } catch (error) {
    throw new Error(
      `cannot make the base image for linux/${platform.architecture} from packages; --base=IMAGE takes one that is there`,
      { cause: error },
    );
  }
}

async function fetchDebian(platform: Platform, folder: string, run: Run): Promise<BasePackages["debian"]> {
  const state = join(folder, "state");
  const cache = join(folder, "cache");
  const files = join(folder, "files");
  for (const made of [join(state, "lists", "partial"), join(cache, "archives", "partial"), files]) {
    mkdirSync(made, { recursive: true });
  }
  // As on a machine on which nothing is installed; that of this machine stays as it is.
  writeFileSync(join(state, "status"), "");
  const settings = {
    "APT::Architecture": platform.architecture,
    "APT::Architectures": platform.architecture,
    "APT::Sandbox::User": "root",
    "Acquire::Languages": "none",
    "Acquire::Retries": "3",
    "Dir::State": state,
    "Dir::State::status": join(state, "status"),
    "Dir::Cache": cache,
  };
  const options = ["--quiet=2", ...Object.entries(settings).map(([name, value]) => `--option=${name}=${value}`)];
  await run("apt-get", [...options, "update"]);
  const download = (...names: readonly string[]) =>
    run("apt-get", [...options, "download", ...names], { directory: files });
  await download(...debianPackages);
  await download(await licencePackage(files, run));
  const found = [];
  for (const file of readdirSync(files).sort(byCodeUnits)) {
    const path = join(files, file);
    const field = async (name: string) => (await run("dpkg-deb", ["--field", path, name])).trim();
    const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
    const [name, version, architecture] = [await field("Package"), await field("Version"), await field("Architecture")];
    found.push({ path, name, version, architecture, sha256 });
  }
  return found;
}

/** The package with the licence of the libraries of GCC. Its name has GCC's version in it, such as `gcc-12-base`. */
async function licencePackage(files: string, run: Run): Promise<string> {
  const library = readdirSync(files).find((file) => file.startsWith("libgcc-s1_")) ?? "";
  const needed = await run("dpkg-deb", ["--field", join(files, library), "Depends"]);
  const name = /\bgcc-\d+-base\b/.exec(needed)?.[0];
  if (name === undefined) throw new Error("libgcc-s1 names no package with its licence");
  return name;
}

async function fetchNode(name: string, version: string, { folder, run }: { folder: string; run: Run }) {
  mkdirSync(folder, { recursive: true });
  await run("npm", ["pack", "--loglevel=error", `${name}@${version}`], { directory: folder });
  const path = join(folder, `${name}-${version}.tgz`);
  return { path, name, version, sha512: createHash("sha512").update(readFileSync(path)).digest("hex") };
}
