import type { OpenConnections } from "../../api/kinds/sandbox.ts";
import { effectiveAutoSuspension } from "../../api/rules/defaults.ts";
import { runGuarded } from "../../lib/guard/guard.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import type { Destination } from "../connect/connect-request.ts";
import type { OpenListener } from "../proxy-interface.ts";
import type { Cluster } from "../sandbox/cluster.ts";
import type { Target } from "../sandbox/resolve.ts";
import type { KeptConnection, KeptConnections } from "./kept-connections.ts";
import type { OpenConnection } from "./open-connections.ts";
import type { PodFences } from "./pod-fences.ts";
import type { Use } from "./use.ts";

export interface KeepOpenDeps {
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, "sandbox">;
  readonly fences: PodFences;
  readonly openConnections: KeptConnections;
  /** Called when data moves on an open connection, to cancel a pending inactivity suspension. */
  readonly onMoved: (sandbox: { readonly namespace: string; readonly name: string; readonly port: number }) => void;
}

/** A connection that stays open: its sandbox, Pod and use. */
export interface Stay {
  readonly to: Destination;
  readonly target: Target;
  readonly use: Use;
  /** Calls back when the connection has ended; at once if it has ended already. */
  readonly onEnded: (listener: () => void) => void;
}

/** How long an answer that begins after its Pod was sealed may take, in milliseconds. Then the connection is closed. */
const answerGraceMs = 1_000;

/** Registers an open connection. The sandbox's `openConnections` decides what it means, and may change at any time. */
export function keepOpen(connection: OpenConnection, stay: Stay, deps: KeepOpenDeps): OpenListener {
  const { namespace, name } = stay.to;
  const sandbox = deps.cluster.sandbox(namespace, name);
  const staying = new Keeping(connection, stay, deps, sandbox?.metadata.uid ?? "");
  staying.registered(deps.openConnections.add(staying, effectiveAutoSuspension(sandbox?.spec ?? {}).openConnections));
  stay.onEnded(() => staying.ended());
  return staying;
}

/**
 *   open ──fenced──▶ keeping ──answered, and a second──▶ closed      (keeping: its client waits for an answer, or Count)
 *     └─────────────────fenced─────────────────────────────▲
 */
class Keeping implements KeptConnection, OpenListener {
  readonly sandboxUid: string;
  readonly podUid: string;
  readonly #connection: OpenConnection;
  readonly #use: Use;
  readonly #deps: KeepOpenDeps;
  readonly #moved: { readonly namespace: string; readonly name: string; readonly port: number };
  #phase: "open" | "keeping" | "closed" = "open";
  #isRequest = false;
  #answering: Timer | undefined;
  #added: Disposable | undefined;

  constructor(
    connection: OpenConnection,
    { to: { namespace, name }, target: { podUid, port }, use }: Stay,
    deps: KeepOpenDeps,
    sandboxUid: string,
  ) {
    this.#connection = connection;
    this.#use = use;
    this.#deps = deps;
    this.sandboxUid = sandboxUid;
    this.podUid = podUid;
    this.#moved = { namespace, name, port };
  }

  mean(meaning: OpenConnections): void {
    this.#use.opened(this.#isRequest ? "Count" : meaning);
    // Its Pod was fenced before the meaning was known: the connection closes in the next microtask.
    if (!this.#deps.fences.of(this.sandboxUid).fenced.has(this.podUid)) return;
    queueMicrotask(() => runGuarded("pod-connection", () => this.fenced()));
  }

  fenced(): void {
    if (this.#phase === "closed") return;
    if (this.#use.keepsSealedPod) this.#phase = "keeping";
    else this.#close();
  }

  clientSends(): void {
    if (this.#phase === "open" && this.#deps.fences.of(this.sandboxUid).fenced.has(this.podUid)) this.fenced();
  }

  moved(): void {
    if (this.#use.moved()) this.#reportMoved();
  }

  clientSpoke(): void {
    if (this.#use.asked()) this.#reportMoved();
  }

  sandboxSpoke(): void {
    if (this.#phase === "keeping" && this.#use.hasUnanswered) this.#beginsToAnswer();
    else if (this.#use.answered()) this.#reportMoved();
  }

  requestEnded(): void {
    this.#isRequest = true;
    this.#use.opened("Count");
  }

  sandboxEnded(): void {
    this.ended();
    this.#use.end();
  }

  /** `added`: ends the registration. */
  registered(added: Disposable): void {
    this.#added = added;
  }

  ended(): void {
    this.#phase = "closed";
    this.#answering?.cancel();
    this.#added?.[Symbol.dispose]();
    this.#added = undefined;
  }

  /** Data that still moves on a fenced connection belongs to the sealed Pod and causes no wake. */
  #reportMoved(): void {
    if (this.#phase !== "keeping") this.#deps.onMoved(this.#moved);
  }

  /** The first bytes are seldom the whole answer, so the answer counts as in flight until the timer. */
  #beginsToAnswer(): void {
    this.#use.moved();
    this.#answering ??= this.#deps.clock.after(answerGraceMs, () => {
      this.#use.answered();
      this.fenced();
    });
  }

  #close(): void {
    this.#phase = "closed";
    this.#use.closing();
    this.#connection.close();
    this.#deps.openConnections.closed();
  }
}
