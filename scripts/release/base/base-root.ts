import { copyFileSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { byCodeUnits } from "../../../lib/data/by-code-units.ts";
import type { Run } from "../command.ts";
import { accounts } from "./accounts.ts";
import type { BasePackages } from "./fetch-packages.ts";

const certificates = "etc/ssl/certs/ca-certificates.crt";

/** Makes the files of the base image from packages: Node, what it is linked to, the authorities that it trusts, and no shell. */
export async function makeBaseRoot(packages: BasePackages, root: string, run: Run): Promise<void> {
  mkdirSync(root, { recursive: true });
  for (const { path, name } of packages.debian) {
    await run("dpkg-deb", ["--extract", path, root]);
    // Where scanners find the packages of an image without dpkg.
    write(root, `var/lib/dpkg/status.d/${name}`, await run("dpkg-deb", ["--field", path]));
  }
  // What the package's own script does when it is installed.
  const authorities = globSync("usr/share/ca-certificates/mozilla/*.crt", { cwd: root }).sort(byCodeUnits);
  if (authorities.length === 0) throw new Error("the package ca-certificates contains no certificate");
  write(root, certificates, authorities.map((file) => readFileSync(join(root, file), "utf8").trim()).join("\n"), "\n");
  removeUnused(root);
  for (const [path, text] of Object.entries(accounts)) write(root, path, text);
  mkdirSync(join(root, "home/nonroot"), { recursive: true });
  await addNode(packages.node.path, root, run);
}

function write(root: string, path: string, ...texts: readonly string[]): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), texts.join(""));
}

/** Of what packages share, only licences stay; no program runs that was left by them, and nothing converts character sets. */
function removeUnused(root: string): void {
  const licences = new Set(["doc", "common-licenses"]);
  for (const name of readdirSync(join(root, "usr/share"))) {
    if (!licences.has(name)) rmSync(join(root, "usr/share", name), { recursive: true });
  }
  const doc = join(root, "usr/share/doc");
  for (const file of globSync("*/*", { cwd: doc })) {
    if (basename(file) !== "copyright") rmSync(join(doc, file), { recursive: true });
  }
  for (const file of globSync(["usr/sbin/*", "usr/lib/*/gconv", "usr/lib/*/audit"], { cwd: root })) {
    rmSync(join(root, file), { recursive: true });
  }
}

async function addNode(archive: string, root: string, run: Run): Promise<void> {
  const unpacked = `${root}.node`;
  mkdirSync(unpacked);
  await run("tar", ["--extract", "--gzip", `--file=${archive}`, `--directory=${unpacked}`]);
  const node = join(root, "usr/local/bin/node");
  for (const folder of [dirname(node), join(root, "usr/share/doc/node")]) mkdirSync(folder, { recursive: true });
  copyFileSync(join(unpacked, "package/bin/node"), node);
  copyFileSync(join(unpacked, "package/LICENSE"), join(root, "usr/share/doc/node/LICENSE"));
  rmSync(unpacked, { recursive: true });
  // A Node that cannot start on another architecture would be noticed only when the image is run.
  for (const [, library = ""] of (await run("readelf", ["--dynamic", node])).matchAll(/\(NEEDED\).*\[(.+)\]/g)) {
    if (globSync([`lib*/${library}`, `{lib,usr/lib}/*/${library}`], { cwd: root }).length === 0) {
      throw new Error(`Node needs ${library}, which none of the packages of the base image contains`);
    }
  }
}
