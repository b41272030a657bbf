import { join } from "node:path";
import type { Files } from "../doors/files.ts";
import type { ImageKey } from "./image-key.ts";
import { RecordFolder } from "./record-folder.ts";

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
  /** Whether its sentry is being ended. That corrects the state file first, so it may say that the Pod runs. */
  readonly isEnding?: boolean;
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
  readonly #killed: string;
  readonly #tombstones: RecordFolder<Tombstone>;
  readonly #failed: RecordFolder<FailedCapture>;

  constructor(root: string, files: Files) {
    this.#tombstones = new RecordFolder(join(root, "tombstones"), files);
    this.#failed = new RecordFolder(join(root, "failed-captures"), files);
    this.#killed = join(root, "killed");
    this.#files = files;
  }

  /** @throws an error if the Pod has one, for this image or for another. */
  async createTombstone(tombstone: Tombstone): Promise<void> {
    await this.#tombstones.create(tombstone);
  }

  /** With the text of the final one that was written with the image, this needs no room on the disk. */
  async finalize(tombstone: Tombstone, prepared: string): Promise<void> {
    const isMoved = await this.#tombstones.take(tombstone.podUID, prepared);
    if (!isMoved) await this.#tombstones.write({ ...tombstone, isFinal: true });
  }

  /** The tombstone goes after this record is written. In between the Pod counts as failed. */
  async writeFailed(failed: FailedCapture): Promise<void> {
    await this.#failed.write(failed);
  }

  async removeTombstone(podUID: string): Promise<void> {
    await this.#tombstones.remove(podUID);
  }

  async removeFailed(podUID: string): Promise<void> {
    await this.#failed.remove(podUID);
  }

  /** The tombstone of a Pod, whatever image it is for. */
  async tombstoneOf(podUID: string): Promise<Tombstone | undefined> {
    return this.#tombstones.ofPod(podUID);
  }

  async ofImage(key: ImageKey): Promise<RecordsOfImage> {
    return { tombstone: await this.#tombstones.ofImage(key), failed: await this.#failed.ofImage(key) };
  }

  /** Whether one of these containers of the Pod was told to end, as the shim has noted. */
  async isKilled(podUID: string, containers: readonly string[]): Promise<boolean> {
    const noted = await this.#files.list(join(this.#killed, podUID));
    return noted.some((container) => containers.includes(container));
  }

  /** Removes old notes about containers that are gone: their shims may have ended before they could do it. */
  async removeKilled(isGone: (container: string) => boolean, beforeMs: number): Promise<void> {
    for (const podUID of await this.#files.list(this.#killed)) {
      const folder = join(this.#killed, podUID);
      for (const container of (await this.#files.list(folder)).filter(isGone)) {
        const path = join(folder, container);
        if ((await this.#files.writtenMs(path)) < beforeMs) await this.#files.remove(path);
      }
      await this.#files.removeEmptyFolder(folder);
    }
  }

  /** The images that any record is about. */
  async keys(): Promise<readonly ImageKey[]> {
    return [...(await this.#tombstones.all()), ...(await this.#failed.all())];
  }

  /** What an agent that was killed had begun to write. */
  async removeUnfinished(): Promise<void> {
    await this.#tombstones.removeUnfinished();
    await this.#failed.removeUnfinished();
  }
}
