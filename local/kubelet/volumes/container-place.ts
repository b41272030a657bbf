import { join, posix } from "node:path";
import type { Container, VolumeMount } from "../../../api/kinds/core.ts";
import { StartRefused } from "../start-refusal.ts";

/**
 * The directory on this machine for a path inside a container: at or below a mount path it is in the volume's
 * directory, of nested mounts in the innermost. Undefined for a path outside of all volumes.
 *
 * @throws StartRefused for a `subPath` that leaves its volume.
 */
export function placeInVolume(
  path: string,
  container: Container,
  volumeDirectories: ReadonlyMap<string, string>,
): string | undefined {
  const wanted = posix.normalize(path);
  const mounts = (container.volumeMounts ?? []).filter((mount) => isBelow(wanted, mount.mountPath));
  const [innermost] = mounts.toSorted((a, b) => b.mountPath.length - a.mountPath.length);
  if (!innermost) return undefined;
  const directory = volumeDirectories.get(innermost.name);
  if (directory === undefined) throw new StartRefused("CreateContainerConfigError", `no volume "${innermost.name}"`);
  return join(directory, subPathOf(innermost), posix.relative(posix.normalize(innermost.mountPath), wanted));
}

/** Whether a relative path stays below its start. */
export function staysInside(relativePath: string): boolean {
  return !posix.isAbsolute(relativePath) && !posix.normalize(relativePath).split("/").includes("..");
}

function isBelow(path: string, mountPath: string): boolean {
  return staysInside(posix.relative(posix.normalize(mountPath), path));
}

function subPathOf({ name, subPath = "" }: VolumeMount): string {
  if (staysInside(subPath)) return subPath;
  throw new StartRefused("CreateContainerConfigError", `subPath "${subPath}" leaves volume "${name}"`);
}
