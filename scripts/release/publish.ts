import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Release, ReleaseTools } from "./make-release.ts";
import { createCrane } from "./registry.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * Pushes the images and the chart of a release to its registry, from the archives in its folder, with the credentials that
 * `docker login` or `helm registry login` left.
 *
 * @throws when the registry has another digest afterwards than the release names.
 */
export async function publishRelease(release: Release, folder: string, tools: ReleaseTools): Promise<void> {
  const crane = createCrane(tools.crane, tools.run);
  using work = temporaryFolder("publish");
  for (const { name, file, digest } of release.oci) {
    const layout = join(work.path, name);
    mkdirSync(layout, { recursive: true });
    await tools.run("tar", ["--extract", `--file=${join(folder, file)}`, `--directory=${layout}`]);
    const image = `${release.registry}/${name}:${release.version}`;
    await crane.run("push", layout, image);
    const pushed = (await crane.run("digest", image)).trim();
    if (pushed !== digest) throw new Error(`${image} has the digest ${pushed} in the registry, not ${digest}`);
    tools.say(`published ${image}@${digest}`);
  }
}
