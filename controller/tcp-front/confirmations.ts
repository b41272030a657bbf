import type { ListeningPort } from "../../api/between-programs/drain-protocol.ts";
import { type EndpointSlice, tcpFrontOf } from "../../api/between-programs/tcp-front.ts";
import type { Activator } from "../suspension/activators/activators.ts";

/** By port and sandbox: two may want one port, until one of them gets another. */
type Pairs = Map<string, ListeningPort>;

/** The confirmations of one run of an activator's process, and the questions that are left for it. */
interface Word {
  readonly run: string;
  /** It accepts there for that sandbox. */
  readonly listens: Pairs;
  readonly unasked: Pairs;
  /** It was asked about these, and did not confirm them. */
  readonly unsaid: Pairs;
}

/** The subject of a call to an activator: new ports, or ports that it has left unconfirmed before. */
export type Lane = "unasked" | "unsaid";

/**
 * Which activators have said that they accept on which ports for which sandboxes. In memory only: what the slices list was
 * confirmed to the controller that wrote it, and is taken over unless an activator contradicts.
 */
export class Confirmations {
  /** The ports of each sandbox, by its UID. */
  readonly #wanted = new Map<string, readonly number[]>();
  /** By activator. */
  readonly #words = new Map<string, Word>();

  /** These are the activators now. Another run of one is asked about everything; those are returned. */
  activators(activators: readonly Activator[]): readonly string[] {
    const there = new Map(activators.flatMap(({ id, endpoint }) => (endpoint ? [[id, endpoint.run] as const] : [])));
    for (const [id, { run }] of this.#words) if (there.get(id) !== run) this.#words.delete(id);
    const fresh = [...there].filter(([id]) => !this.#words.has(id));
    for (const [id, run] of fresh) this.#words.set(id, this.#newWord(run));
    return fresh.map(([id]) => id);
  }

  /** These ports stand for the sandbox from now on, and no others. */
  want(sandboxUid: string, ports: readonly number[]): void {
    const before = this.#wanted.get(sandboxUid) ?? [];
    const added = ports.filter((port) => !before.includes(port));
    const dropped = before.filter((port) => !ports.includes(port));
    if (ports.length > 0) this.#wanted.set(sandboxUid, ports);
    else this.#wanted.delete(sandboxUid);
    for (const word of this.#words.values()) {
      for (const activatorPort of dropped) forget(word, { activatorPort, sandboxUid });
      for (const activatorPort of added) put(word.unasked, { activatorPort, sandboxUid });
    }
  }

  /** Takes over the ports in a slice of a former leader, and has them asked again. */
  takeOver(slice: EndpointSlice, activators: readonly Activator[]): void {
    const front = tcpFrontOf(slice);
    if (!front || front.freedAt !== undefined) return;
    const { endpoints, ports } = slice;
    const listed = new Set((ports ?? []).map(({ port }) => port));
    const pods = new Set((endpoints ?? []).map(({ targetRef }) => targetRef?.uid));
    this.want(
      front.sandboxUid,
      front.ports.map(({ activatorPort }) => activatorPort),
    );
    for (const { id, endpoint } of activators) {
      const word = this.#words.get(id);
      if (!word || !endpoint?.pod || !pods.has(endpoint.pod.uid)) continue;
      for (const { activatorPort } of front.ports) {
        if (listed.has(activatorPort)) put(word.listens, { activatorPort, sandboxUid: front.sandboxUid });
      }
    }
  }

  listens(activator: string, pair: ListeningPort): boolean {
    return this.#words.get(activator)?.listens.has(nameOf(pair)) === true;
  }

  /** The next questions to an activator, at most so many; empty: none. */
  questions(activator: string, lane: Lane, max: number): readonly ListeningPort[] {
    return [...(this.#words.get(activator)?.[lane].values().take(max) ?? [])];
  }

  /**
   * Records the answer of an activator; undefined: no answer, and earlier confirmations stay. Returns the sandboxes whose
   * confirmations have changed.
   */
  answered(
    { id, endpoint }: Activator,
    asked: readonly ListeningPort[],
    confirmed: readonly ListeningPort[] | undefined,
  ): ReadonlySet<string> {
    const word = this.#words.get(id);
    const changed = new Set<string>();
    if (!word || word.run !== endpoint?.run) return changed;
    const said = confirmed && new Set(confirmed.map(nameOf));
    for (const pair of asked) {
      const before = word.listens.has(nameOf(pair));
      const now = said ? said.has(nameOf(pair)) : before;
      forget(word, pair);
      if (!this.#wanted.get(pair.sandboxUid)?.includes(pair.activatorPort)) continue;
      if (now) put(word.listens, pair);
      if (!now || !said) put(word.unsaid, pair);
      if (before !== now) changed.add(pair.sandboxUid);
    }
    return changed;
  }

  /** How many confirmations are missing, over all activators. */
  get missing(): number {
    return this.#words.values().reduce((sum, { unasked, unsaid }) => sum + unasked.size + unsaid.size, 0);
  }

  #newWord(run: string): Word {
    const word: Word = { run, listens: new Map(), unasked: new Map(), unsaid: new Map() };
    for (const [sandboxUid, ports] of this.#wanted) {
      for (const activatorPort of ports) put(word.unasked, { activatorPort, sandboxUid });
    }
    return word;
  }
}

const nameOf = ({ activatorPort, sandboxUid }: ListeningPort): string => `${activatorPort} ${sandboxUid}`;

const put = (pairs: Pairs, pair: ListeningPort): void => void pairs.set(nameOf(pair), pair);

function forget({ listens, unasked, unsaid }: Word, pair: ListeningPort): void {
  for (const pairs of [listens, unasked, unsaid]) pairs.delete(nameOf(pair));
}
