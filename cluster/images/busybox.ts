import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../command.ts";
import { pauseImage } from "../settings.ts";
import type { Inside } from "../start-component.ts";
import { buildImage, type ImageSource, imageNames } from "./image-store.ts";

const names: ImageSource["names"] = [pauseImage, "docker.io/library/busybox:1.36", "docker.io/library/busybox:latest"];

const dockerfile = `FROM scratch
COPY rootfs /
ENV PATH=/bin
CMD ["/bin/sleep", "infinity"]
`;

/** The image that holds a Pod's network namespace, and that tests use as a workload: Debian's static busybox. */
export async function provideBusybox(inside: Inside): Promise<void> {
  const there = await imageNames(inside);
  if (names.every((name) => there.has(name))) return;
  const context = join(inside.layout.images, "busybox");
  rmSync(context, { recursive: true, force: true });
  const bin = join(context, "rootfs", "bin");
  mkdirSync(bin, { recursive: true });
  mkdirSync(join(context, "rootfs", "tmp"), { mode: 0o777 });
  copyFileSync("/bin/busybox", join(bin, "busybox"));
  for (const applet of (await run("/bin/busybox", ["--list"])).split("\n").filter(Boolean)) {
    if (applet !== "busybox") symlinkSync("busybox", join(bin, applet));
  }
  writeFileSync(join(context, "Dockerfile"), dockerfile);
  await buildImage(inside, { names, context, dockerfile: join(context, "Dockerfile") });
}
