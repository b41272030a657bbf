import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Inside } from "../start-component.ts";
import { buildImage, imageNames } from "./image-store.ts";
import { nodeBaseImage } from "./node-base.ts";

const repository = join(import.meta.dirname, "..", "..");

const products = ["controller", "activator"] as const;
type Product = (typeof products)[number];

/** The full names of the product's images. Compute them once: they change with the files of the checkout. */
export type ProductImages = Readonly<Record<Product, string>>;

export const productImages = (): ProductImages => ({
  controller: imageName("controller"),
  activator: imageName("activator"),
});

/** A name whose tag is the hash of the image's content. */
function imageName(product: Product): string {
  const hash = createHash("sha256");
  const sources = [`Dockerfile.${product}`, ".dockerignore", "LICENSE", "NOTICE", "package.json", "package-lock.json"];
  const folders = ["lib", "api", "kube", product, "scripts/collect-program.ts"];
  const files = folders.flatMap((folder) =>
    folder.endsWith(".ts") ? [folder] : globSync(`${folder}/**/*.ts`, { cwd: repository }).sort(),
  );
  for (const file of [...sources, ...files]) {
    if (!file.endsWith(".test.ts")) hash.update(file).update(readFileSync(join(repository, file)));
  }
  return `rouse.local/${product}:${hash.digest("hex").slice(0, 12)}`;
}

/** Builds the images of both programs from the checkout, unless images with the same hash exist. */
export async function provideProducts(inside: Inside, images: ProductImages): Promise<void> {
  const there = await imageNames(inside);
  for (const product of products) {
    const name = images[product];
    if (there.has(name)) continue;
    await buildImage(inside, {
      names: [name],
      context: repository,
      dockerfile: join(repository, `Dockerfile.${product}`),
      buildArguments: { BASE_IMAGE: nodeBaseImage },
    });
  }
}
