import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import type { ActivatorReplica } from "../sleep/activator-replica.ts";
import { endCounts } from "../sleep/end-counts.ts";
import type { TestBed } from "../sleep/test-bed.ts";
import { type Outcome, type Visit, visit } from "../sleep/visitor.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { talkByName } from "./by-name.ts";
import type { Findings } from "./findings.ts";
import type { Names } from "./names.ts";
import { isReachedByName, type SoakSandbox } from "./sandboxes.ts";

export interface TrafficOptions {
  readonly bed: TestBed;
  readonly names: Names;
  readonly soakSandboxes: readonly SoakSandbox[];
  readonly random: SeededRandom;
  readonly findings: Findings;
  readonly clients: number;
  /** Begins the id of each request. A Pod may execute a request only after its client has given up, so no id may come again. */
  readonly phase: string;
  readonly signal: AbortSignal;
}

const longestBody = 64 * 1024;

/** Clients that send random requests, never retry, and check every response. Resolves when all have ended. */
export async function makeTraffic(options: TrafficOptions): Promise<void> {
  const clients = Array.from({ length: options.clients }, (_, index) => new Client(index, options));
  await Promise.all(clients.map((client) => client.run()));
}

class Client {
  readonly #index: number;
  readonly #options: TrafficOptions;
  #asked = 0;

  constructor(index: number, options: TrafficOptions) {
    this.#index = index;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { random, signal, soakSandboxes, bed } = this.#options;
    while (!signal.aborted) {
      const soakSandbox = random.oneOf(soakSandboxes);
      const ready = bed.activators.filter((activator) => activator.ready);
      if (ready.length === 0) throw new Error("no activator is ready: traffic has nowhere to go");
      const by = random.oneOf(ready);
      const choice = random.below(100);
      if (choice < 3 && soakSandbox.mayBePaused) await this.#pause(soakSandbox);
      else if (choice < 8 && soakSandbox.kind !== "neverWoken") await this.#talk(by, soakSandbox);
      else if (choice < 30 && isReachedByName(soakSandbox))
        await talkByName(this.#nextId(), soakSandbox, this.#options);
      else await this.#ask(by, soakSandbox);
      await delay(random.below(400));
    }
  }

  async #pause(soakSandbox: SoakSandbox): Promise<void> {
    const { bed, findings } = this.#options;
    soakSandbox.pausedMs = performance.now();
    await bed.change(soakSandbox.name, { operatingMode: "Suspended" });
    findings.count("pauses by a person");
  }

  async #ask(by: ActivatorReplica, soakSandbox: SoakSandbox): Promise<void> {
    const { bed, findings } = this.#options;
    const { deaths } = by;
    const asked = this.#visit(soakSandbox);
    const askedMs = performance.now();
    const outcome = await visit(by, asked);
    const tookMs = performance.now() - askedMs;
    const executions = bed.node.ledger.of(asked.id);
    bed.node.ledger.forget(asked.id);
    const survived = by.deaths === deaths;
    const complaint = survived ? this.#complaint(asked, soakSandbox, outcome, executions) : undefined;
    findings.count(survived ? `answers ${outcome.status}` : "requests by a replica that was killed");
    if (executions.length > 1) findings.complain(`${asked.id} was executed ${executions.length} times`);
    if (!complaint) return;
    const facts = `${asked.id} to ${asked.sandbox} through ${by.name}, after ${tookMs.toFixed(0)} ms`;
    findings.complain(`${facts}: ${complaint}\n${await endCounts(by).catch(String)}`);
  }

  #nextId(): string {
    this.#asked += 1;
    return `${this.#options.phase}-${this.#index}-${this.#asked}`;
  }

  #visit({ name: sandbox }: SoakSandbox): Visit {
    const { random } = this.#options;
    const id = this.#nextId();
    const pace = random.below(10);
    const afterMs = pace < 7 ? 0 : random.below(pace < 9 ? 50 : 1_500);
    const drips = random.below(20) === 0 ? { drips: 5, dripEveryMs: 100 } : {};
    const body = random.below(2) === 0 ? { body: "x".repeat(random.below(longestBody)) } : {};
    return { id, sandbox, afterMs, ...drips, ...body };
  }

  #complaint(
    { id, body = "" }: Visit,
    { kind }: SoakSandbox,
    outcome: Outcome,
    executions: readonly { readonly end: string; readonly podUid: string }[],
  ): string | undefined {
    if (outcome.status === 409 && kind === "neverWoken") {
      const ends = executions.map(({ end, podUid }) => `${end} by ${podUid}`).join(", ");
      return executions.length === 0 ? undefined : `rejected, but executed: ${outcome.body.trim()} (${ends})`;
    }
    if (outcome.status !== 200) {
      return `${outcome.status} ${outcome.body} (executed ${executions.length} times: ${executions[0]?.end})`;
    }
    const answer = JSON.parse(outcome.body);
    const [execution] = executions;
    const right = answer.id === id && answer.bytes === body.length && answer.podUid === execution?.podUid;
    return right ? undefined : `the response of another request: ${outcome.body.trim()}`;
  }

  /** Opens a WebSocket, sends random messages, and expects an echo of each or a close. */
  async #talk(by: ActivatorReplica, { name, kind }: SoakSandbox): Promise<void> {
    const { random, findings } = this.#options;
    const { deaths } = by;
    const socket = new WebSocket(`ws://${by.host}:${by.port}/`, { headers: { "x-sandbox-id": name } });
    const opened = await new Promise<boolean>((resolve) => {
      socket.once("open", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    if (!opened) {
      if (by.deaths === deaths) findings.complain(`a WebSocket to ${name} was not opened`);
      return;
    }
    findings.count("WebSockets");
    let said = 0;
    let echoed = 0;
    let closed = false;
    socket.on("message", () => {
      echoed += 1;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      closed = true;
    });
    for (let round = random.below(4); round >= 0 && !closed; round -= 1) {
      said += 1;
      socket.send("hello");
      await delay(100 + random.below(1_500));
    }
    // With `Count`, only a manual suspension may close it. Otherwise the close shows that messages were lost.
    if (!closed && echoed < said) await delay(10_000);
    if (!closed && echoed < said && by.deaths === deaths) {
      findings.complain(`a WebSocket to ${name} (${kind}) lost ${said - echoed} of ${said} messages without a close`);
    }
    socket.terminate();
  }
}
