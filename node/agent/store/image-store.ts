import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import type { Files } from "../doors/files.ts";
import { type ImageKey, imageKey } from "./image-key.ts";
import { type ImageSize, ImageSizes } from "./image-sizes.ts";
import { isUid } from "./records.ts";
import { markUnasked, markUsedUp, usedUp, usedUpEnd } from "./use-marks.ts";

/** What must be true of a file of an image: its size, and its SHA-256 in hexadecimal digits. */
export interface FileFacts {
  readonly bytes: number;
  readonly sha256: string;
}

/** The file that is written last. The shim reads the first six fields. */
export interface Description {
  readonly runsc: string;
  readonly containers: readonly string[];
  readonly files: Readonly<Record<string, FileFacts>>;
  /** The shim's hash of what each container runs; the one without a name holds the Pod together. */
  readonly configs: Readonly<Record<string, string>>;
  readonly sandboxUID: string;
  readonly runHash: string;
  readonly podUID: string;
  readonly bytes: number;
  readonly capturedAt: string;
  readonly durations: CaptureDurations;
}

export interface CaptureDurations {
  readonly freezeMs: number;
  readonly writeMs: number;
  readonly syncMs: number;
  readonly hashMs: number;
}

/** What the shim says of one use of an image. */
export interface Mark {
  /** Empty: the container that holds the Pod together. */
  readonly name: string;
  /** The UID of the Pod that used the image. */
  readonly pod: string;
  /** The id of the container that used it, which is that of its sandbox for the mark without a name. */
  readonly container: string;
  readonly outcome: "restoring" | "restored" | "refused" | "failed";
  readonly reason: string;
  /** When the use began and when this was written, in milliseconds of wall time. */
  readonly beganMs: number;
  readonly writtenMs: number;
}

/** A Pod that the shim did not restore: the controller has not signed it, or the image is gone or was used. That is no use of the image. */
export interface RefusedPod {
  /** Its UID. */
  readonly pod: string;
  readonly reason: string;
  readonly message: string;
}

/** An image that is whole. */
export interface WholeImage extends Description {
  /** The SHA-256 of its description, which has the hashes of all files. */
  readonly imageHash: string;
}

/** All that the store has of an image. */
export interface OnDisk {
  /** Whether there is a part of an image. Nothing is restored from it. */
  readonly isPartial: boolean;
  /** Undefined without a whole image. */
  readonly image: WholeImage | undefined;
  readonly marks: readonly Mark[];
  /** The last Pod that asked without a right to. */
  readonly refused: RefusedPod | undefined;
  /** Whether there are other files of a shim. */
  readonly hasLeftovers: boolean;
}

const descriptionFile = "image.json";
/**
 * Made with the image, because its end must need no room: the disk may be full then. The mark that takes it from all Pods, and the final
 * tombstone of its Pod. They are beside the image: the shim refuses one with other files in it.
 */
const finalTombstoneEnd = ".final-tombstone";
const refusedEnd = ".refused";
/** What a shim had only begun to write, or wrote about a Pod that had no right or could not read the image; and what its end needs. */
const leftoverEnds: readonly string[] = [".new", ".trouble", refusedEnd, usedUpEnd, finalTombstoneEnd];
/** Why the shim refuses a Pod, in one word: the values of a metric label. */
export const refusedReasons = ["NotSigned", "WrongSignature", "NoPublicKey", "ImageMissing", "AlreadyUsed"] as const;
const shimReasons: readonly unknown[] = refusedReasons;
const outcomes: readonly unknown[] = ["restored", "refused", "failed"];

/** The images of a node, and the shim's marks beside them. */
export class ImageStore {
  /** What the images take. */
  readonly sizes: ImageSizes;
  readonly #files: Files;
  readonly #root: string;

  constructor(root: string, files: Files) {
    this.#root = root;
    this.#files = files;
    this.sizes = new ImageSizes({ keys: () => this.keys(), measure: (key) => this.#measure(key) });
  }

  partOf(key: ImageKey): string {
    return `${this.#pathOf(key)}.part`;
  }

  /** Makes an empty folder for the parts of an image. */
  async begin(key: ImageKey): Promise<string> {
    await this.#files.remove(this.partOf(key));
    await this.#files.makeFolder(this.partOf(key));
    await this.sizes.change(key);
    return this.partOf(key);
  }

  /** With what the end of the image needs. */
  async describe(key: ImageKey, description: Description, finalTombstone: string): Promise<void> {
    const path = this.#pathOf(key);
    await this.#files.write(`${path}${usedUpEnd}`, JSON.stringify(usedUp));
    await this.#files.write(this.finalTombstoneOf(key), finalTombstone);
    await this.#files.replace(join(this.partOf(key), descriptionFile), JSON.stringify(description));
  }

  /** Makes a described part the image. */
  async complete(key: ImageKey): Promise<void> {
    try {
      await this.#files.rename(this.partOf(key), this.#pathOf(key));
    } finally {
      await this.sizes.change(key);
    }
  }

  async read(key: ImageKey): Promise<OnDisk> {
    const names = await this.#namesOf(key);
    const image = names.includes(key.image) ? await this.#describedIn(this.#pathOf(key)) : undefined;
    const isPartial = names.includes(`${key.image}.part`) || (names.includes(key.image) && image === undefined);
    const marks = names.filter((name) => name.endsWith(".json")).map((name) => this.#markIn(key, name));
    const hasLeftovers = names.some((name) => leftoverEnds.some((end) => name.endsWith(end)));
    const refused = names.includes(`${key.image}${refusedEnd}`) ? await this.#refusedOf(key) : undefined;
    return { isPartial, image, marks: await Promise.all(marks), refused, hasLeftovers };
  }

  /** Makes the mark of a use by nobody, unless a Pod uses the image: the maker of the mark has the image. */
  async useUp(key: ImageKey): Promise<void> {
    await markUsedUp(this.#pathOf(key), this.#files);
  }

  /** Makes the mark of a Pod whose shim was not asked for the memory, unless there is one. */
  async markAnew(key: ImageKey, pod: string): Promise<void> {
    await this.#files.makeFolder(this.#folderOf(key));
    await markUnasked(this.#pathOf(key), pod, this.#files);
  }

  /** Where the final tombstone of the captured Pod is, until it is used. */
  finalTombstoneOf(key: ImageKey): string {
    return `${this.#pathOf(key)}${finalTombstoneEnd}`;
  }

  /** Removes an image and its part. The first step makes it no image any more: nothing is restored from half of one. */
  async removeImage(key: ImageKey): Promise<void> {
    const names = await this.#namesOf(key);
    try {
      if (names.includes(`${key.image}.part`)) await this.#files.remove(this.partOf(key));
      if (names.includes(key.image)) {
        await this.#files.rename(this.#pathOf(key), this.partOf(key));
        await this.#files.remove(this.partOf(key));
      }
      for (const end of [usedUpEnd, finalTombstoneEnd]) {
        if (names.includes(`${key.image}${end}`)) await this.#files.remove(`${this.#pathOf(key)}${end}`);
      }
    } finally {
      await this.sizes.change(key);
    }
    await this.#removeEmptyFolders(key);
  }

  /**
   * Removes what is left of an image that is removed. An image without marks would count as unused. The mark of the Pod goes first:
   * with it, a container without a mark counts as one whose restore the Pod waits for.
   */
  async removeMarks(key: ImageKey): Promise<void> {
    const folder = this.#folderOf(key);
    const names = [...(await this.#namesOf(key))].sort((a, b) => a.length - b.length);
    for (const name of names) await this.#files.remove(join(folder, name));
    await this.#removeEmptyFolders(key);
  }

  /** The folders of a Pod and of its namespace go with the last thing in them. */
  async #removeEmptyFolders(key: ImageKey): Promise<void> {
    const folder = this.#folderOf(key);
    if (await this.#files.removeEmptyFolder(folder)) await this.#files.removeEmptyFolder(dirname(folder));
  }

  /** All images of which there is anything. */
  async keys(): Promise<readonly ImageKey[]> {
    const found: ImageKey[] = [];
    for (const namespace of await this.#files.list(this.#root)) {
      for (const pod of await this.#files.list(join(this.#root, namespace))) {
        found.push(...(await this.keysOfPod(namespace, pod)));
      }
    }
    return found;
  }

  async keysOfPod(namespace: string, pod: string): Promise<readonly ImageKey[]> {
    const names = await this.#files.list(join(this.#root, namespace, pod));
    const images = new Set(names.map((name) => name.split(".", 1)[0]));
    return [...images].flatMap((image) => imageKey(namespace, pod, image) ?? []);
  }

  /** What all images take, and what those of each namespace do. */
  async usedBytes(): Promise<{ readonly usedBytes: number; readonly byNamespace: ReadonlyMap<string, number> }> {
    const byNamespace = new Map<string, number>();
    let usedBytes = 0;
    for (const { bytes, key } of await this.sizes.all()) {
      usedBytes += bytes;
      byNamespace.set(key.namespace, (byNamespace.get(key.namespace) ?? 0) + bytes);
    }
    return { usedBytes, byNamespace };
  }

  async #measure(key: ImageKey): Promise<ImageSize> {
    const names = await this.#namesOf(key);
    const isPartial = names.includes(`${key.image}.part`);
    const wholeBytes = names.includes(key.image) ? await this.#bytesIn(this.#pathOf(key)) : 0;
    return { key, isPartial, bytes: wholeBytes + (isPartial ? await this.partBytes(key) : 0) };
  }

  /** What a capture has written. */
  partBytes(key: ImageKey): Promise<number> {
    return this.#bytesIn(this.partOf(key));
  }

  async #bytesIn(folder: string): Promise<number> {
    let sum = 0;
    for (const name of await this.#files.list(folder)) sum += await this.#files.bytesOf(join(folder, name));
    return sum;
  }

  #folderOf({ namespace, pod }: ImageKey): string {
    return join(this.#root, namespace, pod);
  }

  #pathOf(key: ImageKey): string {
    return join(this.#folderOf(key), key.image);
  }

  async #namesOf(key: ImageKey): Promise<readonly string[]> {
    const names = await this.#files.list(this.#folderOf(key));
    return names.filter((name) => name.split(".", 1)[0] === key.image);
  }

  async #refusedOf(key: ImageKey): Promise<RefusedPod | undefined> {
    const { pod, reason, message } = parsed((await this.#files.read(`${this.#pathOf(key)}${refusedEnd}`)) ?? "") ?? {};
    if (typeof pod !== "string" || !isUid(pod) || !shimReasons.includes(reason)) return undefined;
    return { pod, reason: String(reason), message: typeof message === "string" ? message : "" };
  }

  async #describedIn(folder: string): Promise<WholeImage | undefined> {
    const text = (await this.#files.read(join(folder, descriptionFile))) ?? "";
    const described = parsed(text) as Description | undefined;
    return described && { ...described, imageHash: createHash("sha256").update(text).digest("hex") };
  }

  /** A mark that the shim has only begun to write is one of a restore that has begun. */
  async #markIn(key: ImageKey, file: string): Promise<Mark> {
    const path = join(this.#folderOf(key), file);
    const writtenMs = await this.#files.writtenMs(path);
    const mark = parsed((await this.#files.read(path)) ?? "") ?? {};
    const outcome = outcomes.includes(mark["outcome"]) ? (mark["outcome"] as Mark["outcome"]) : "restoring";
    return {
      name: file.slice(key.image.length, -".json".length).replace(/^\./, ""),
      pod: typeof mark["pod"] === "string" ? mark["pod"] : "",
      container: typeof mark["container"] === "string" ? mark["container"] : "",
      outcome,
      reason: typeof mark["reason"] === "string" ? mark["reason"] : "",
      beganMs: typeof mark["beganMs"] === "number" ? mark["beganMs"] : writtenMs,
      writtenMs,
    };
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
