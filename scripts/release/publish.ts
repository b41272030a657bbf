import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { OciArchive } from "./images/oci-archive.ts";
import type { Release, ReleaseTools } from "./make-release.ts";
import { type Crane, createCrane } from "./registry.ts";
import { temporaryFolder } from "./temporary-folder.ts";

type PublishTools = Pick<ReleaseTools, "run" | "crane" | "say">;

/**
 * Pushes the images and the chart of a release to its registry, from the archives in its folder, with the credentials that
 * `docker login` or `helm registry login` left. What is published already is left as it is, so a call after a failure goes on
 * where that ended.
 *
 * @throws when a name of this version has another digest in the registry, before anything is pushed, or afterwards.
 */
export async function publishRelease(release: Release, folder: string, tools: PublishTools): Promise<void> {
  const crane = createCrane(tools.crane, tools.run);
  using work = temporaryFolder("publish");
  const missing: OciArchive[] = [];
  for (const archive of release.oci) {
    const image = imageOf(release, archive);
    const published = await digestOf(crane, image);
    if (published === undefined) missing.push(archive);
    else if (published === archive.digest) tools.say(`${image}@${published} is published already`);
    else
      throw new Error(
        `${image} is published with the digest ${published}, not ${archive.digest}: a release is never replaced`,
      );
  }
  for (const archive of missing) {
    const { name, file, digest } = archive;
    const layout = join(work.path, name);
    mkdirSync(layout, { recursive: true });
    await tools.run("tar", ["--extract", `--file=${join(folder, file)}`, `--directory=${layout}`]);
    const image = imageOf(release, archive);
    await crane.run("push", layout, image);
    const pushed = (await crane.run("digest", image)).trim();
    if (pushed !== digest) throw new Error(`${image} has the digest ${pushed} in the registry, not ${digest}`);
    tools.say(`published ${image}@${digest}`);
  }
}

const imageOf = ({ registry, version }: Release, { name }: OciArchive): string => `${registry}/${name}:${version}`;

/** Undefined if the registry does not have the image. */
async function digestOf(crane: Crane, image: string): Promise<string | undefined> {
  try {
    return (await crane.run("digest", image)).trim();
  } catch (error) {
    if (error instanceof Error && /MANIFEST_UNKNOWN|NAME_UNKNOWN|404 Not Found/.test(error.message)) return undefined;
    throw error;
  }
}
