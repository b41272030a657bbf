import type { Inside } from "../start-component.ts";
import { provideBusybox } from "./busybox.ts";

/** Gives the container runtime every image that is not there yet. */
export async function provideImages(inside: Inside): Promise<void> {
  await provideBusybox(inside);
}
