import type { ListeningPort } from "../../api/drain-protocol.ts";
import { type EndpointSlice, tcpFrontOf } from "../../api/tcp-front.ts";
import type { Activator } from "../suspension/activators.ts";

/** What one run of an activator's process has said, and what it is still to be asked. */
interface Word {
  readonly run: string;
  /** By its port: for which sandbox it accepts there. */
  readonly listens: Map<number, string>;
  readonly unasked: Map<number, string>;
  /** It was asked about these, and did not confirm them. */
  readonly unsaid: Map<number, string>;
}

/** Which of the two an activator is to be asked about: what is new, or what it has left unconfirmed before. */
export type Lane = "unasked" | "unsaid";

/**
 * Which activators have said that they accept on which ports for which sandboxes. In memory only: what the slices list was
 * confirmed to the controller that wrote it, and is taken over as long as nobody says otherwise.
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
      for (const port of dropped) forget(word, port, sandboxUid);
      for (const port of added) if (word.listens.get(port) !== sandboxUid) word.unasked.set(port, sandboxUid);
    }
  }

  /** Believes what a slice of a former leader lists, and has it asked again. */
  takeOver({ endpoints, ports, metadata }: EndpointSlice, activators: readonly Activator[]): void {
    const front = tcpFrontOf({ metadata });
    if (!front || front.freedAt !== undefined) return;
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
        if (listed.has(activatorPort)) word.listens.set(activatorPort, front.sandboxUid);
      }
    }
  }

  listens(activator: string, sandboxUid: string, port: number): boolean {
    return this.#words.get(activator)?.listens.get(port) === sandboxUid;
  }

  /** What an activator is to be asked next, at most so much; empty: nothing. */
  questions(activator: string, lane: Lane, max: number): readonly ListeningPort[] {
    const asked = this.#words.get(activator)?.[lane].entries().take(max) ?? [];
    return [...asked].map(([activatorPort, sandboxUid]) => ({ activatorPort, sandboxUid }));
  }

  /**
   * What an activator answered; undefined: nothing, and what was believed of it stays. Returns the sandboxes about which
   * more or less is known now.
   */
  answered(
    { id, endpoint }: Activator,
    asked: readonly ListeningPort[],
    confirmed: readonly ListeningPort[] | undefined,
  ): ReadonlySet<string> {
    const word = this.#words.get(id);
    const changed = new Set<string>();
    if (!word || word.run !== endpoint?.run) return changed;
    const said = new Map((confirmed ?? []).map(({ activatorPort, sandboxUid }) => [activatorPort, sandboxUid]));
    for (const { activatorPort: port, sandboxUid } of asked) {
      const before = word.listens.get(port) === sandboxUid;
      const now = confirmed ? said.get(port) === sandboxUid : before;
      forget(word, port, sandboxUid);
      if (!this.#wanted.get(sandboxUid)?.includes(port)) continue;
      if (now) word.listens.set(port, sandboxUid);
      if (!now || !confirmed) word.unsaid.set(port, sandboxUid);
      if (before !== now) changed.add(sandboxUid);
    }
    return changed;
  }

  /** How many confirmations are missing, over all activators. */
  get missing(): number {
    return this.#words.values().reduce((sum, { unasked, unsaid }) => sum + unasked.size + unsaid.size, 0);
  }

  #newWord(run: string): Word {
    const all = [...this.#wanted].flatMap(([uid, ports]) => ports.map((port) => [port, uid] as const));
    return { run, listens: new Map(), unasked: new Map(all), unsaid: new Map() };
  }
}

function forget({ listens, unasked, unsaid }: Word, port: number, sandboxUid: string): void {
  for (const map of [listens, unasked, unsaid]) if (map.get(port) === sandboxUid) map.delete(port);
}
