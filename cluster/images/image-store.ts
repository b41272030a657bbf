import { join } from "node:path";
import type { Inside } from "../start-component.ts";

/** An image to build with `buildah build`. */
export interface ImageSource {
  /** The full names by which Pods refer to it. */
  readonly names: readonly [string, ...string[]];
  /** The folder whose files the Dockerfile copies. */
  readonly context: string;
  /** Absolute, or below the context. */
  readonly dockerfile: string;
  readonly buildArguments?: Readonly<Record<string, string>>;
}

const kubernetesNamespace = ["--namespace", "k8s.io"] as const;

/** The names of the images that the container runtime has. */
export async function imageNames(inside: Inside): Promise<ReadonlySet<string>> {
  const list = await inside.run("ctr", [...kubernetesNamespace, "images", "list", "--quiet"]);
  return new Set(list.split("\n").filter(Boolean));
}

/** Builds an image and imports it into the container runtime under its names. No registry is used. */
export async function buildImage(inside: Inside, source: ImageSource): Promise<void> {
  const { names, context, dockerfile, buildArguments = {} } = source;
  const [name, ...otherNames] = names;
  const buildah = (...args: readonly string[]) => inside.run("buildah", ["--storage-driver=overlay", ...args]);
  const buildArgs = Object.entries(buildArguments).map(([key, value]) => `--build-arg=${key}=${value}`);
  const policy = `--signature-policy=${inside.layout.settings("image-policy.json")}`;
  await buildah(
    "build",
    policy,
    // Neither user namespaces nor a container runtime: a build step needs only its own root directory here.
    "--isolation=chroot",
    "--pull-never",
    ...buildArgs,
    `--tag=${name}`,
    `--file=${dockerfile}`,
    context,
  );
  const archive = join(inside.layout.images, `${name.replaceAll(/[^a-z0-9.-]/g, "_")}.tar`);
  await buildah("push", policy, name, `docker-archive:${archive}:${name}`);
  await inside.run("ctr", [...kubernetesNamespace, "images", "import", archive]);
  await inside.run("rm", [archive]);
  for (const other of otherNames) {
    await inside.run("ctr", [...kubernetesNamespace, "images", "tag", "--force", name, other]);
  }
}
