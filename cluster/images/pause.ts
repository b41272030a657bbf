import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pauseImage } from "../settings.ts";
import type { Inside } from "../start-component.ts";
import { buildImage, imageNames } from "./image-store.ts";

const name = "registry.k8s.io/pause:3.10";

// Like the image of that name it does nothing, and ends as soon as it is asked to, which a bare sleep as first process
// does not.
const dockerfile = `FROM ${pauseImage}
CMD ["/bin/sh", "-c", "trap 'exit 0' TERM INT; sleep infinity & wait"]
`;

/** What tests of others run as a workload. It is made from busybox, which must be there. */
export async function providePause(inside: Inside): Promise<void> {
  if ((await imageNames(inside)).has(name)) return;
  const context = join(inside.layout.images, "pause");
  mkdirSync(context, { recursive: true });
  writeFileSync(join(context, "Dockerfile"), dockerfile);
  await buildImage(inside, { names: [name], context, dockerfile: join(context, "Dockerfile") });
}
