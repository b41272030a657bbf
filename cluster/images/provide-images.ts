import type { Inside } from "../start-component.ts";
import { provideBusybox } from "./busybox.ts";
import { provideNodeBase } from "./node-base.ts";
import { providePause } from "./pause.ts";
import { type ProductImages, provideProducts } from "./product.ts";

/** Provides all missing images to the container runtime. */
export async function provideImages(inside: Inside, images: ProductImages): Promise<void> {
  await provideBusybox(inside);
  await providePause(inside);
  await provideNodeBase(inside);
  await provideProducts(inside, images);
}
