import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pauseImage } from "../settings.ts";
import type { Inside } from "../start-component.ts";
import { buildImage, imageNames } from "./image-store.ts";

const name = "registry.k8s.io/pause:3.10";

// Like the real pause image it does nothing and exits on SIGTERM, which a plain `sleep` as process 1 does not.
const dockerfile = `FROM ${pauseImage}
CMD ["/bin/sh", "-c", "trap 'exit 0' TERM INT; sleep infinity & wait"]
`;

/** The workload of the ecosystem's tests. It is built from the busybox image, which must exist. */
export async function providePause(inside: Inside): Promise<void> {
  if ((await imageNames(inside)).has(name)) return;
  const context = join(inside.layout.images, "pause");
  mkdirSync(context, { recursive: true });
  writeFileSync(join(context, "Dockerfile"), dockerfile);
  await buildImage(inside, { names: [name], context, dockerfile: join(context, "Dockerfile") });
}
