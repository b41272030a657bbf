import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findOwner } from "../bridge.ts";
import { type Layout, provisionerDirectory } from "../layout.ts";

/** The machine has a cluster in another directory, or the directory is not empty and not a cluster's. */
export class DirectoryRefused extends Error {
  override readonly name = "DirectoryRefused";
}

/**
 * Marks the directory as a cluster's and creates its folders.
 *
 * @throws DirectoryRefused
 */
export async function claimDirectory(layout: Layout): Promise<void> {
  await refuseOtherOwner(layout);
  const { directory, marker } = layout;
  if (existsSync(directory) && !existsSync(marker) && readdirSync(directory).length > 0) {
    throw new DirectoryRefused(`${directory} is not a cluster's directory; choose an empty one with --dir`);
  }
  const { pki, kubeconfig, settings, process, log, etcd, images, volumes } = layout;
  const files = [pki("any"), kubeconfig("any"), settings("cni/any"), process("any"), log("any")];
  for (const folder of [...files.map(dirname), etcd, images, layout.var, volumes, provisionerDirectory]) {
    mkdirSync(folder, { recursive: true });
  }
  writeFileSync(marker, "");
}

/** @throws DirectoryRefused when the cluster that runs on this machine is another one. */
export async function refuseOtherOwner({ directory }: Layout): Promise<void> {
  const owner = await findOwner();
  if (owner === undefined || owner === directory) return;
  throw new DirectoryRefused(
    `this machine has a cluster in ${owner}; end it with \`npm run cluster -- down --dir ${owner}\``,
  );
}

/** Whether a cluster in this directory, or its remains, may be on this machine: its mark is removed last. */
export function isCluster({ directory, marker }: Layout, owner: string | undefined): boolean {
  return owner === directory || existsSync(marker);
}

/** The mark comes last. */
export const removalOrder = (names: readonly string[], mark: string): readonly string[] => [
  ...names.filter((name) => name !== mark),
  ...names.filter((name) => name === mark),
];

/** Removes the directory if it is a cluster's. Its mark goes last: whatever interrupts this, the next `down` goes on. */
export function removeDirectory({ directory, marker }: Layout): void {
  if (!existsSync(marker)) return;
  const names = removalOrder(readdirSync(directory), basename(marker));
  for (const name of names) rmSync(join(directory, name), { recursive: true, force: true });
  rmSync(directory, { recursive: true, force: true });
}
