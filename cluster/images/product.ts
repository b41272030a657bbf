import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mainFile, type Program, programs } from "../../scripts/release/images/image-packages.ts";
import type { Inside } from "../start-component.ts";
import { buildImage, imageNames } from "./image-store.ts";
import { nodeBaseImage } from "./node-base.ts";

const repository = join(import.meta.dirname, "..", "..");

/** The full names of the product's images. Compute them once: they change with the files of the checkout. */
export interface ProductImages {
  readonly controller: string;
  readonly activator: string;
  /** Absent in a cluster without gVisor. */
  readonly "node-agent"?: string;
}

export const productImages = ({ withAgent = false } = {}): ProductImages => ({
  controller: imageName("controller"),
  activator: imageName("activator"),
  ...(withAgent && { "node-agent": imageName("node-agent") }),
});

/** A name whose tag is the hash of the image's content. */
function imageName(product: Program): string {
  const hash = createHash("sha256");
  const sources = [`Dockerfile.${product}`, ".dockerignore", "LICENSE", "NOTICE", "package.json", "package-lock.json"];
  const folders = ["lib", "api", "kube", dirname(mainFile(product)), "scripts/collect-program.ts"];
  const files = folders.flatMap((folder) =>
    folder.endsWith(".ts") ? [folder] : globSync(`${folder}/**/*.ts`, { cwd: repository }).sort(),
  );
  for (const file of [...sources, ...files]) {
    if (!file.endsWith(".test.ts")) hash.update(file).update(readFileSync(join(repository, file)));
  }
  return `rouse.local/${product}:${hash.digest("hex").slice(0, 12)}`;
}

/** Builds the images of the programs from the checkout, unless images with the same hash exist. */
export async function provideProducts(inside: Inside, images: ProductImages): Promise<void> {
  const there = await imageNames(inside);
  for (const product of programs) {
    const name = images[product];
    if (name === undefined || there.has(name)) continue;
    await buildImage(inside, {
      names: [name],
      context: repository,
      dockerfile: join(repository, `Dockerfile.${product}`),
      buildArguments: { BASE_IMAGE: nodeBaseImage },
    });
  }
}
