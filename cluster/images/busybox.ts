import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../command.ts";
import { pauseImage } from "../settings.ts";
import type { Inside } from "../start-component.ts";
import { buildImage, type ImageSource, imageNames } from "./image-store.ts";
import { copyProgram } from "./root-file-system.ts";

const names: ImageSource["names"] = [pauseImage, "docker.io/library/busybox:1.36", "docker.io/library/busybox:latest"];

const dockerfile = `FROM scratch
COPY rootfs /
RUN ["/bin/busybox", "chmod", "1777", "/tmp"]
ENV PATH=/bin
CMD ["/bin/sleep", "infinity"]
`;

/** The image that holds a Pod's network namespace, and that tests use as a workload: Debian's busybox. */
export async function provideBusybox(inside: Inside): Promise<void> {
  const there = await imageNames(inside);
  if (names.every((name) => there.has(name))) return;
  const context = join(inside.layout.images, "busybox");
  rmSync(context, { recursive: true, force: true });
  const root = join(context, "rootfs");
  const bin = join(root, "bin");
  await copyProgram(root, "/bin/busybox", "/bin/busybox");
  mkdirSync(join(root, "tmp"));
  for (const applet of (await run("/bin/busybox", ["--list"])).split("\n").filter(Boolean)) {
    if (applet !== "busybox") symlinkSync("busybox", join(bin, applet));
  }
  writeFileSync(join(context, "Dockerfile"), dockerfile);
  await buildImage(inside, { names, context, dockerfile: join(context, "Dockerfile") });
}
