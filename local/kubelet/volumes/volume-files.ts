import type { ConfigMap, KeyToPath, Secret } from "../../../api/kinds/core.ts";
import { StartRefused } from "../start-refusal.ts";
import { staysInside } from "./container-place.ts";

/** A file of a ConfigMap or Secret volume. */
export interface VolumeFile {
  /** Below the directory of the volume. */
  readonly path: string;
  readonly bytes: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

export interface FileSelection {
  readonly items?: readonly KeyToPath[] | undefined;
  readonly defaultMode?: number | undefined;
  readonly optional?: boolean | undefined;
}

const apiDefaultMode = 0o644;

export function configMapBytes({ data = {}, binaryData = {} }: ConfigMap): ReadonlyMap<string, Buffer> {
  const texts = Object.entries(data).map(([key, value]) => [key, Buffer.from(value)] as const);
  return new Map([...texts, ...decoded(binaryData)]);
}

export function secretBytes({ data = {} }: Secret): ReadonlyMap<string, Buffer> {
  return new Map(decoded(data));
}

/**
 * The files of a volume: every key under its own name, or the `items` if they are listed.
 *
 * @throws StartRefused for an item whose key is missing, or whose path leaves the volume.
 */
export function selectFiles(content: ReadonlyMap<string, Buffer>, selection: FileSelection): readonly VolumeFile[] {
  const { items, defaultMode = apiDefaultMode, optional } = selection;
  const wanted: readonly KeyToPath[] = items ?? [...content.keys()].map((key) => ({ key, path: key }));
  return wanted.flatMap(({ key, path, mode = defaultMode }) => {
    const bytes = content.get(key);
    if (!staysInside(path)) throw new StartRefused("CreateContainerConfigError", `path "${path}" leaves its volume`);
    if (bytes) return [{ path, bytes, mode }];
    if (optional) return [];
    throw new StartRefused("ContainerCreating", `references non-existent config key: ${key}`);
  });
}

function decoded(data: Readonly<Record<string, string>>): readonly (readonly [string, Buffer])[] {
  return Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64")] as const);
}
