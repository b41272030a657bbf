import { join } from "node:path";
import type { Files } from "../doors/files.ts";
import { type ImageKey, textOf } from "./image-key.ts";

interface OfPod extends ImageKey {
  readonly podUID: string;
}

/** Files that are read at the same time. A node has as many records as sandboxes that sleep there. */
const readAtOnce = 16;

/** A folder with one file for each Pod. What is in it is read once and kept: no other program writes there. */
export class RecordFolder<R extends OfPod> {
  readonly #folder: string;
  readonly #files: Files;
  readonly #byUid = new Map<string, R>();
  /** The UID by the text of the image. */
  readonly #uids = new Map<string, string>();
  #loading: Promise<void> | undefined;

  constructor(folder: string, files: Files) {
    this.#folder = folder;
    this.#files = files;
  }

  /** @throws an error with the code EEXIST if the Pod has one. */
  async create(record: R): Promise<void> {
    await this.#change(record.podUID, (path) => this.#files.create(path, JSON.stringify(record)));
  }

  async write(record: R): Promise<void> {
    await this.#change(record.podUID, (path) => this.#files.replace(path, JSON.stringify(record)));
  }

  /** Puts a file in the place of the record, and needs no room on the disk for that. Returns false if there is no such file, or it is of another Pod. */
  async take(podUID: string, from: string): Promise<boolean> {
    const text = await this.#files.read(from);
    if (text === undefined || parse<R>(text)?.podUID !== podUID) return false;
    await this.#change(podUID, (path) => this.#files.move(from, path));
    return true;
  }

  async remove(podUID: string): Promise<void> {
    await this.#change(podUID, (path) => this.#files.remove(path));
  }

  async ofPod(podUID: string): Promise<R | undefined> {
    await this.#load();
    return this.#byUid.get(podUID);
  }

  async ofImage(key: ImageKey): Promise<R | undefined> {
    await this.#load();
    return this.#byUid.get(this.#uids.get(textOf(key)) ?? "");
  }

  async all(): Promise<readonly R[]> {
    await this.#load();
    return [...this.#byUid.values()];
  }

  /** What an agent that was killed had begun to write. */
  async removeUnfinished(): Promise<void> {
    const names = (await this.#files.list(this.#folder)).filter((name) => name.endsWith(".new"));
    for (const name of names) await this.#files.remove(join(this.#folder, name));
  }

  /** Also after an error the disk says what there is. */
  async #change(podUID: string, change: (path: string) => Promise<void>): Promise<void> {
    await this.#load();
    await this.#files.makeFolder(this.#folder);
    try {
      await change(join(this.#folder, `${podUID}.json`));
    } finally {
      await this.#readAgain(podUID);
    }
  }

  async #readAgain(podUID: string): Promise<void> {
    try {
      this.#keep(podUID, await this.#read(podUID));
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  #load(): Promise<void> {
    this.#loading ??= this.#readAll().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #readAll(): Promise<void> {
    const names = (await this.#files.list(this.#folder)).filter((name) => name.endsWith(".json"));
    const uids = names.map((name) => name.slice(0, -".json".length));
    for (const known of [...this.#byUid.keys()].filter((uid) => !uids.includes(uid))) this.#keep(known, undefined);
    for (let first = 0; first < uids.length; first += readAtOnce) {
      const some = uids.slice(first, first + readAtOnce);
      await Promise.all(some.map(async (uid) => this.#keep(uid, await this.#read(uid))));
    }
  }

  #keep(podUID: string, record: R | undefined): void {
    const before = this.#byUid.get(podUID);
    if (before && this.#uids.get(textOf(before)) === podUID) this.#uids.delete(textOf(before));
    this.#byUid.delete(podUID);
    if (!record) return;
    this.#byUid.set(podUID, record);
    this.#uids.set(textOf(record), podUID);
  }

  async #read(podUID: string): Promise<R | undefined> {
    const text = await this.#files.read(join(this.#folder, `${podUID}.json`));
    return text === undefined ? undefined : parse<R>(text);
  }
}

/** Undefined for a text that the agent does not write. The shim still refuses the Pod. */
function parse<R>(text: string): R | undefined {
  try {
    return JSON.parse(text) as R;
  } catch {
    return undefined;
  }
}
