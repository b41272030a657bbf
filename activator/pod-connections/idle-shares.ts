import { IdleList, type Link } from "./idle-list.ts";
import { Rank, Ranking } from "./ranking.ts";

/** Beyond a limit for several owners, one of those that have most gives up its oldest: a crowd at one Pod costs no other its few. */
interface Shared<T> {
  readonly size: number;
  readonly next: T | undefined;
}

/** The idle connections of all namespaces. */
export class IdleShares<T> implements Shared<T> {
  readonly #namespaces = new Map<string, IdleOfNamespace<T>>();
  readonly #ranking = new Ranking<IdleOfNamespace<T>>();
  /** The one that became empty last is kept: under load the idle connections of a busy sandbox are none again and again. */
  #lastEmptied: IdleOfNamespace<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get next(): T | undefined {
    return this.#ranking.largest?.next;
  }

  /** The number of namespaces with idle connections. */
  get namespaces(): number {
    return this.#namespaces.size - (this.#lastEmptied?.size === 0 ? 1 : 0);
  }

  /** Those of this namespace. The caller asks again after its last one. */
  of(name: string): IdleOfNamespace<T> {
    const known = this.#namespaces.get(name);
    if (known) return known;
    const namespace = new IdleOfNamespace<T>(name, this);
    this.#namespaces.set(name, namespace);
    return namespace;
  }

  changed(namespace: IdleOfNamespace<T>, by: 1 | -1): void {
    this.#size += by;
    this.#ranking.move(namespace.rank, namespace.size);
    if (namespace.size === 0) this.#emptied(namespace);
  }

  #emptied(namespace: IdleOfNamespace<T>): void {
    const before = this.#lastEmptied;
    if (before && before !== namespace && before.size === 0) this.#namespaces.delete(before.name);
    this.#lastEmptied = namespace;
  }
}

class IdleOfNamespace<T> implements Shared<T> {
  readonly name: string;
  readonly rank = new Rank<IdleOfNamespace<T>>(this);
  readonly #shares: IdleShares<T>;
  readonly #pods = new Ranking<IdleOfPod<T>>();
  #size = 0;

  constructor(name: string, shares: IdleShares<T>) {
    this.name = name;
    this.#shares = shares;
  }

  get size(): number {
    return this.#size;
  }

  get next(): T | undefined {
    return this.#pods.largest?.oldest?.value;
  }

  changed(pod: IdleOfPod<T>, by: 1 | -1): void {
    this.#size += by;
    this.#pods.move(pod.rank, pod.size);
    this.#shares.changed(this, by);
  }
}

/** The idle connections to one address of a Pod, oldest first. They count in their namespace and in the whole. */
export class IdleOfPod<T> extends IdleList<T> {
  readonly rank = new Rank<IdleOfPod<T>>(this);
  readonly #name: string;
  readonly #shares: IdleShares<T>;
  #namespace: IdleOfNamespace<T> | undefined;

  constructor(namespace: string, shares: IdleShares<T>) {
    super();
    this.#name = namespace;
    this.#shares = shares;
  }

  /** Undefined: it has none. */
  get namespace(): IdleOfNamespace<T> | undefined {
    return this.#namespace;
  }

  override join(link: Link<T>): void {
    super.join(link);
    this.#namespace ??= this.#shares.of(this.#name);
    this.#namespace.changed(this, 1);
  }

  override remove(link: Link<T>): void {
    super.remove(link);
    this.#namespace?.changed(this, -1);
    if (this.size === 0) this.#namespace = undefined;
  }
}
