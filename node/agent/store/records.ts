import { join } from "node:path";
import type { Files } from "../doors/files.ts";
import { type ImageKey, textOf } from "./image-key.ts";

/**
 * Says that the memory of a Pod is being captured or is captured: the Pod must not start again. The shim refuses every create and
 * start for a Pod that has one.
 */
export interface Tombstone extends ImageKey {
  readonly podUID: string;
  /** Whether the Pod must stay frozen, also after its image is removed. */
  readonly isFinal: boolean;
}

/** Says that a capture has failed. Its image is removed, and its Pod is thawed before this record goes. */
export interface FailedCapture extends ImageKey {
  readonly podUID: string;
  readonly reason: string;
  readonly message: string;
  /** Whether the thaw has begun. A thaw is never tried twice. */
  readonly isThawing?: boolean;
}

export interface RecordsOfImage {
  readonly tombstone: Tombstone | undefined;
  readonly failed: FailedCapture | undefined;
}

/** The UID of a Pod becomes the name of a file. */
export const isUid = (text: string): boolean => /^[0-9A-Za-z][-0-9A-Za-z]{0,63}$/.test(text);

/** What the agent must not forget of captures, in one file for each Pod: it may end at any line. */
export class Records {
  readonly #files: Files;
  readonly #tombstones: string;
  readonly #failed: string;

  constructor(root: string, files: Files) {
    this.#files = files;
    this.#tombstones = join(root, "tombstones");
    this.#failed = join(root, "failed-captures");
  }

  /** @throws an error if the Pod has one, for this image or for another. */
  async createTombstone(tombstone: Tombstone): Promise<void> {
    await this.#files.makeFolder(this.#tombstones);
    await this.#files.create(this.#pathOf(this.#tombstones, tombstone.podUID), JSON.stringify(tombstone));
  }

  async finalize(tombstone: Tombstone): Promise<void> {
    await this.#write(this.#tombstones, { ...tombstone, isFinal: true });
  }

  /** The tombstone goes after this record is written. In between the Pod counts as failed. */
  async writeFailed(failed: FailedCapture): Promise<void> {
    await this.#write(this.#failed, failed);
  }

  async removeTombstone(podUID: string): Promise<void> {
    await this.#files.remove(this.#pathOf(this.#tombstones, podUID));
  }

  async removeFailed(podUID: string): Promise<void> {
    await this.#files.remove(this.#pathOf(this.#failed, podUID));
  }

  /** The tombstone of a Pod, whatever image it is for. */
  async tombstoneOf(podUID: string): Promise<Tombstone | undefined> {
    return this.#read<Tombstone>(this.#pathOf(this.#tombstones, podUID));
  }

  async ofImage(key: ImageKey): Promise<RecordsOfImage> {
    const isOfImage = (record: ImageKey) => textOf(record) === textOf(key);
    return {
      tombstone: (await this.#all<Tombstone>(this.#tombstones)).find(isOfImage),
      failed: (await this.#all<FailedCapture>(this.#failed)).find(isOfImage),
    };
  }

  /** The images that any record is about. */
  async keys(): Promise<readonly ImageKey[]> {
    return [...(await this.#all<Tombstone>(this.#tombstones)), ...(await this.#all<FailedCapture>(this.#failed))];
  }

  /** What an agent that was killed had begun to write. */
  async removeUnfinished(): Promise<void> {
    for (const folder of [this.#tombstones, this.#failed]) {
      const names = (await this.#files.list(folder)).filter((name) => name.endsWith(".new"));
      for (const name of names) await this.#files.remove(join(folder, name));
    }
  }

  async #write(folder: string, record: Tombstone | FailedCapture): Promise<void> {
    await this.#files.makeFolder(folder);
    await this.#files.replace(this.#pathOf(folder, record.podUID), JSON.stringify(record));
  }

  async #all<R>(folder: string): Promise<readonly R[]> {
    const names = (await this.#files.list(folder)).filter((name) => name.endsWith(".json"));
    const read = await Promise.all(names.map((name) => this.#read<R>(join(folder, name))));
    return read.flatMap((record) => record ?? []);
  }

  async #read<R>(path: string): Promise<R | undefined> {
    const text = await this.#files.read(path);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as R);
    } catch {
      return undefined; // the agent writes none like this; the shim still refuses the Pod
    }
  }

  #pathOf(folder: string, podUID: string): string {
    return join(folder, `${podUID}.json`);
  }
}
