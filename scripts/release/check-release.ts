import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checksumsFile, releasedFiles, signatureFile } from "./checksums.ts";
import type { Program } from "./images/image-packages.ts";
import type { Inputs } from "./inputs.ts";
import { makeRelease, type Release, type ReleaseTools } from "./make-release.ts";
import { publishRelease } from "./publish.ts";
import { startScratchRegistry } from "./registry.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { together } from "./together.ts";

/**
 * Makes a release twice from the same inputs, the second time with another umask and in other folders, and publishes it to a
 * registry on this machine.
 *
 * @throws when a file differs, a signature is wrong, or the registry has other digests.
 */
export async function checkRelease(inputs: Inputs, tools: ReleaseTools): Promise<readonly string[]> {
  using folder = temporaryFolder("check");
  const work = folder.path;
  const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const umask = process.umask();
  try {
    await using registry = await startScratchRegistry(tools.crane, join(work, "registry"));
    const make = (out: string) =>
      makeRelease({ inputs, registry: `${registry.address}/rouse`, out: join(work, out), key }, tools);
    const release = await make("first");
    process.umask(0o077);
    await make("second");
    const files = compare(join(work, "first"), join(work, "second"));
    for (const out of ["first", "second"]) {
      const read = (file: string) => readFileSync(join(work, out, file));
      const signature = Buffer.from(read(signatureFile).toString(), "base64");
      if (!verify("sha256", read(checksumsFile), createPublicKey(key), signature))
        throw new Error("a signature is wrong");
    }
    await publish(release, join(work, "first"), tools);
    return files;
  } finally {
    process.umask(umask);
  }
}

async function publish(release: Release, folder: string, tools: ReleaseTools): Promise<void> {
  await publishRelease(release, folder, tools);
  const validate = (program: Program, ...options: readonly string[]) =>
    tools.run(tools.crane, ["validate", `--remote=${release.registry}/${program}:${release.version}`, ...options]);
  // Downloads each layer again, and compares it with manifest and configuration. The base of the others is the same.
  await together([validate("controller"), validate("activator", "--fast"), validate("node-agent", "--fast")]);
  const chart = `oci://${release.registry}/charts/rouse`;
  await tools.run(tools.helm, ["show", "chart", chart, `--version=${release.version}`, "--plain-http"]);
}

function compare(first: string, second: string): readonly string[] {
  const files = [...releasedFiles(first), checksumsFile];
  const others = [...releasedFiles(second), checksumsFile];
  const names = new Set([...files, ...others]);
  const differ = [...names].filter(
    (file) =>
      !(files.includes(file) && others.includes(file)) ||
      !readFileSync(join(first, file)).equals(readFileSync(join(second, file))),
  );
  if (differ.length > 0) throw new Error(`two releases of the same commit differ: ${differ.join(", ")}`);
  return files;
}
