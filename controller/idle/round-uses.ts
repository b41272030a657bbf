import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { KnownUse } from "./times/use-times.ts";

/** The use of a sandbox, and the state of the sandbox that it was read with. */
export interface SeenUse extends KnownUse {
  readonly sandbox: Stored<Sandbox>;
}

/** The use of sandboxes as one round of the watch has read it: each is read once, although several parts of the round ask. */
export class RoundUses {
  readonly #read: (key: string) => SeenUse | undefined;
  readonly #known = new Map<string, SeenUse>();

  constructor(read: (key: string) => SeenUse | undefined) {
    this.#read = read;
  }

  /** Reads it now, for the rest of the round too. */
  readNow(key: string): SeenUse | undefined {
    const seen = this.#read(key);
    if (seen) this.#known.set(key, seen);
    return seen;
  }

  of(key: string): SeenUse | undefined {
    return this.#known.get(key) ?? this.#read(key);
  }

  /** The round has ended, or more has become known. */
  clear(): void {
    this.#known.clear();
  }
}
