import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Inside } from "../start-component.ts";
import { buildImage, imageNames } from "./image-store.ts";
import { nodeBaseImage } from "./node-base.ts";

const repository = join(import.meta.dirname, "..", "..");

export const products = ["controller", "activator"] as const;
export type Product = (typeof products)[number];

/** The full name of a product's image, with a tag that changes with what is in it. */
export function productImage(product: Product): string {
  const hash = createHash("sha256");
  const sources = [`Dockerfile.${product}`, ".dockerignore", "package.json", "package-lock.json"];
  const folders = ["lib", "api", "kube", product, "scripts/collect-program.ts"];
  const files = folders.flatMap((folder) =>
    folder.endsWith(".ts") ? [folder] : globSync(`${folder}/**/*.ts`, { cwd: repository }).sort(),
  );
  for (const file of [...sources, ...files]) {
    if (!file.endsWith(".test.ts")) hash.update(file).update(readFileSync(join(repository, file)));
  }
  return `rouse.local/${product}:${hash.digest("hex").slice(0, 12)}`;
}

/** Builds the images of both programs from the checkout, unless they are there as the checkout is. */
export async function provideProducts(inside: Inside): Promise<void> {
  const there = await imageNames(inside);
  for (const product of products) {
    const name = productImage(product);
    if (there.has(name)) continue;
    await buildImage(inside, {
      names: [name],
      context: repository,
      dockerfile: join(repository, `Dockerfile.${product}`),
      buildArguments: { BASE_IMAGE: nodeBaseImage },
    });
  }
}
