import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accounts } from "../../scripts/release/base/accounts.ts";
import type { Inside } from "../start-component.ts";
import { buildImage, type ImageSource, imageNames } from "./image-store.ts";
import { copyInto, copyProgram } from "./root-file-system.ts";

export const nodeBaseImage = "docker.io/library/node:24-slim";
const names: ImageSource["names"] = [nodeBaseImage];
const pinnedNode = join(import.meta.dirname, "..", "..", "node_modules", "node", "bin", "node");

const dockerfile = `FROM scratch
COPY rootfs /
ENV PATH=/usr/local/bin:/usr/bin:/bin
CMD ["node"]
`;

/**
 * The base image of the product's images where no registry is reachable: the pinned Node, its shared libraries, the
 * trusted certificates, and no shell.
 */
export async function provideNodeBase(inside: Inside): Promise<void> {
  const there = await imageNames(inside);
  if (names.every((name) => there.has(name))) return;
  const context = join(inside.layout.images, "node-base");
  rmSync(context, { recursive: true, force: true });
  const root = join(context, "rootfs");
  await copyProgram(root, pinnedNode, "/usr/local/bin/node");
  copyInto(root, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt");
  for (const [path, text] of Object.entries(accounts)) writeFileSync(join(root, path), text);
  for (const folder of ["tmp", "root", "home/nonroot"]) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(context, "Dockerfile"), dockerfile);
  await buildImage(inside, { names, context, dockerfile: join(context, "Dockerfile") });
}
