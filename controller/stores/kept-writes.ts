import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import { NotKept } from "../../kube/client/errors.ts";
import { ownField } from "../../lib/data/own-fields.ts";
import { type Backoff, backoffDelayMs } from "../../lib/queues/backoff.ts";
import type { Clock } from "../../lib/time/clock.ts";

interface Unkept {
  readonly count: number;
  readonly dueMs: number;
  readonly error: NotKept;
}

/** What a write is to change. */
export interface Wanted<T extends KubeObject> {
  /** Writes of the same object with the same text here count as the same write. */
  readonly about: string;
  /** What of it an answer does not show; undefined: nothing. */
  readonly lostIn: (answer: Stored<T>) => string | undefined;
}

const backoff: Backoff = { baseMs: 1_000, maxMs: 60_000, jitter: 0.2 };
/** Further objects replace the oldest, which are tried again sooner. */
const objectsMax = 10_000;

/**
 * Checks that what is written is there afterwards. An admission policy or webhook may take it out of an accepted write. A
 * reconciler then finds the object as before, and would write without end: at once, or at each event that its own write causes. So such a
 * write is an error, and is made again later each time.
 */
export class KeptWrites {
  readonly #clock: Clock;
  /** By UID, then by what the write was about. */
  readonly #unkept = new Map<string, Map<string, Unkept>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of objects with a write that was not kept. */
  get size(): number {
    return this.#unkept.size;
  }

  /** Makes a write by a merge patch. @throws NotKept as `write`. */
  patch<T extends KubeObject>(
    object: Stored<KubeObject>,
    body: object,
    call: () => Promise<Stored<T>>,
  ): Promise<Stored<T>> {
    const fields = fieldsOf(body);
    const about = fields.map(({ path, value }) => `${path.join(".")}${value === null ? " removed" : ""}`).join(" ");
    const lostIn = (answer: Stored<T>) => fields.find((field) => !isShown(field, answer))?.path.join(".");
    return this.write(object, { about, lostIn }, call);
  }

  /** @throws NotKept if the answer lacks what was written. Until the next attempt is due, it throws the same without a call. */
  async write<T extends KubeObject>(
    { metadata: { uid } }: Stored<KubeObject>,
    { about, lostIn }: Wanted<T>,
    call: () => Promise<Stored<T>>,
  ): Promise<Stored<T>> {
    const before = this.#unkept.get(uid)?.get(about);
    if (before && before.dueMs > this.#clock.ticksMs()) throw before.error;
    const answer = await call();
    const lost = lostIn(answer);
    if (lost === undefined) {
      this.#kept(uid, about);
      return answer;
    }
    const error = new NotKept(lost);
    const count = (before?.count ?? 0) + 1;
    this.#add(uid, about, { error, count, dueMs: this.#clock.ticksMs() + backoffDelayMs(count, backoff) });
    throw error;
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#unkept.delete(uid);
  }

  #kept(uid: string, about: string): void {
    const ofObject = this.#unkept.get(uid);
    ofObject?.delete(about);
    if (ofObject?.size === 0) this.#unkept.delete(uid);
  }

  #add(uid: string, about: string, unkept: Unkept): void {
    const ofObject = this.#unkept.get(uid) ?? new Map<string, Unkept>();
    const [oldest] = this.#unkept.keys();
    if (oldest !== undefined && !this.#unkept.has(uid) && this.#unkept.size >= objectsMax) this.#unkept.delete(oldest);
    this.#unkept.set(uid, ofObject.set(about, unkept));
  }
}

interface Field {
  readonly path: readonly string[];
  /** Null: it is removed. */
  readonly value: unknown;
}

/** Which object is written, and at which version: an answer has another version. */
const addresses: ReadonlySet<string> = new Set(["metadata.resourceVersion", "metadata.uid"]);

/**
 * What a merge patch sets or removes: all of the metadata, and of the rest what is no list and no object, such as `spec.operatingMode`. In
 * lists and objects an API server adds defaults and drops what its version does not know.
 */
function fieldsOf(body: object, within: readonly string[] = []): readonly Field[] {
  return Object.entries(body).flatMap(([name, value]): readonly Field[] => {
    const path = [...within, name];
    if (addresses.has(path.join(".")) || value === undefined) return [];
    const isMetadata = path[0] === "metadata";
    if (isObject(value)) return isMetadata || path.length === 1 ? fieldsOf(value, path) : [];
    return isMetadata || !Array.isArray(value) ? [{ path, value }] : [];
  });
}

function isShown({ path, value }: Field, answer: unknown): boolean {
  let at = answer;
  for (const name of path) at = isObject(at) ? ownField(at, name) : undefined;
  return value === null ? at === undefined || at === null : includes(at, value);
}

/**
 * The answer may have further owners or finalizers, and an owner further fields. A tenant chooses how many a list has, so the items of two
 * lists are not compared each with each.
 */
function includes(answer: unknown, wanted: unknown): boolean {
  if (!Array.isArray(wanted)) return answer === wanted;
  const all: readonly unknown[] = Array.isArray(answer) ? answer : [];
  const identities = new Set(all.map(identityOf));
  return wanted.every((each) => identities.has(identityOf(each)));
}

/** Of an owner, all that decides whose an object is. A finalizer is a text. */
const identityOf = (item: unknown): unknown =>
  isObject(item) ? JSON.stringify([item["uid"], item["controller"] === true]) : item;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
