import { join } from "node:path";
import type { Files } from "../doors/files.ts";
import { isUid } from "./records.ts";

/** Which store this is. A folder whose disk is not mounted has another one, or none. */
export interface StoreIdentity {
  readonly id: string;
  /** Stores that this one stands for: their disks did not come back, and what they had counts as lost. */
  readonly replaces: readonly string[];
}

/** The store is not the one that the agent works with. Nothing may be concluded from what it has, or has not. */
export class ForeignStore extends Error {
  override readonly name = "ForeignStore";
}

/** The file in which a store says which one it is. The shim reads it too. */
export class StoreFile {
  readonly #path: string;
  readonly #files: Pick<Files, "read" | "replace">;

  constructor(root: string, files: Pick<Files, "read" | "replace">) {
    this.#path = join(root, "store.json");
    this.#files = files;
  }

  /** Undefined if the store does not say it. */
  async read(): Promise<StoreIdentity | undefined> {
    const text = await this.#files.read(this.#path);
    try {
      const { id, replaces } = JSON.parse(text ?? "") as { readonly id?: unknown; readonly replaces?: unknown };
      if (typeof id !== "string" || !isUid(id)) return undefined;
      const others: readonly unknown[] = Array.isArray(replaces) ? replaces : [];
      return { id, replaces: others.filter((other) => typeof other === "string") };
    } catch {
      return undefined;
    }
  }

  async write(identity: StoreIdentity): Promise<void> {
    await this.#files.replace(this.#path, JSON.stringify(identity));
  }

  /** @throws ForeignStore */
  async check({ id }: StoreIdentity): Promise<void> {
    const found = await this.read();
    if (found?.id !== id) throw new ForeignStore(`the store of this node is ${found?.id ?? "unknown"}, and not ${id}`);
  }
}

export const standsFor = ({ id, replaces }: StoreIdentity, other: string): boolean =>
  other === id || replaces.includes(other);
