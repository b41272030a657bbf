import { toResponse } from "../../../activator/failures/error-response.ts";
import { toActivatorError } from "../../../activator/failures/errors-for-clients.ts";
import { ClientConnection } from "../../../activator/http1/front/client-connection.ts";
import type { ConnectionHost } from "../../../activator/http1/front/connection-host.ts";
import type { Exchange } from "../../../activator/http1/front/exchange.ts";
import { HeadBudget } from "../../../activator/http1/front/head-budget.ts";
import { LingeringClients } from "../../../activator/http1/front/lingering.ts";
import { RequestHeadParser } from "../../../activator/http1/parse/request-head-parser.ts";
import { createHttp1Proxy } from "../../../activator/http1/proxy/create-http1-proxy.ts";
import { idleLimits } from "../../../activator/pod-connections/idle-limits.ts";
import { Pool } from "../../../activator/pod-connections/pool.ts";
import { ClientGone } from "../../../activator/request.ts";
import { BufferLoans } from "../../../activator/socket/read-place.ts";
import { Sweep } from "../../../activator/sweep.ts";
import { onUnexpectedError } from "../../../lib/guard/guard.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { Random } from "../random.ts";
import { ClientEnd, SandboxEnd, type Step } from "./ends.ts";
import { asSocket, FakeWire } from "./fake-wire.ts";
import { plainScript, type Script, type Theme, themes, upgradeScript } from "./script.ts";

const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port: 80, probes: [], young: false };
const limits = {
  ...{ maxHeaderBytes: 65_536, proxyTimeoutMs: 60_000, maxRequestBodyBytes: 0, streamIdleMs: 0, totalMs: 0 },
  ...{ tunnelIdleMs: 0, tunnelLifetimeMs: 0 },
};
const how = {
  ...{ subject: "nova", byHost: true, consumesAuthorization: false, trace: undefined },
  ...{ responseStartMs: 60_000, onFirstByte: () => {}, use: { dispatched() {} } },
};
/** Many times more steps than any schedule takes. */
const stepsMax = 50_000;

/** The result of a schedule: `faults` is empty if every byte and every count was right. */
export interface Verdict {
  readonly faults: readonly string[];
  readonly steps: number;
}

/** Runs some clients and their sandbox through the front, the proxy and the pool, in an order that the seed decides. */
export async function runSchedule(seed: number): Promise<Verdict> {
  return await new Schedule(seed).run();
}

class Schedule {
  readonly #random: Random;
  readonly #clock = new FakeClock();
  readonly #sweep = new Sweep(this.#clock);
  readonly #loans: BufferLoans;
  readonly #pool: Pool;
  readonly #scripts = new Map<number, Script>();
  readonly #clients: ClientEnd[] = [];
  readonly #sandboxes: SandboxEnd[] = [];
  /** Requests that wait for their sandbox. */
  readonly #held: (() => void)[] = [];
  readonly #faults: string[] = [];
  #open = 0;
  #underWay = 0;
  #steps = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#loans = new BufferLoans(this.#random.pick([0, 1, 64, 64]));
    this.#pool = new Pool(idleLimits(this.#random.pick([1, 20])), this.#clock);
    const host = this.#hostOf();
    const theme = this.#random.pick(themes);
    const clients = 1 + this.#random.below(3);
    for (let client = 0; client < clients; client += 1) {
      const wire = new FakeWire(this.#random.once(3) ? "tls" : "plain");
      this.#clients.push(new ClientEnd(wire, this.#scriptsOf(client, theme), this.#random));
      const connection = new ClientConnection(asSocket(wire), host);
      this.#open += 1;
      this.#sweep.add(connection);
      wire.reader = connection;
      wire.readOn();
    }
  }

  async run(): Promise<Verdict> {
    using _unexpected = onUnexpectedError((_, error) => void this.#faults.push(String(error)));
    await this.#untilNothingHappens();
    for (const client of this.#clients) this.#judge(client);
    for (const client of this.#clients) client.end();
    await this.#untilNothingHappens();
    await this.#clock.advance(140_000); // the limit of a sandbox that reads no more, and that of an idle connection
    this.#pool[Symbol.dispose]();
    await this.#untilNothingHappens();
    for (const { faults } of this.#sandboxes) this.#faults.push(...faults);
    const left = {
      ...{ loans: this.#loans.lent, watched: this.#sweep.size, connections: this.#open, exchanges: this.#underWay },
      sockets: [...this.#clients, ...this.#sandboxes].filter(({ wire }) => !wire.destroyed).length,
    };
    for (const [what, count] of Object.entries(left)) if (count !== 0) this.#faults.push(`${count} ${what} are left`);
    this.#sweep[Symbol.dispose]();
    return { faults: this.#faults, steps: this.#steps };
  }

  #scriptsOf(client: number, theme: Theme): Script[] {
    const count = 1 + this.#random.below(theme === "early answers" ? 2 : 4);
    return Array.from({ length: count }, (_, at) => {
      const id = client * 10 + at;
      const isLast = at === count - 1;
      const script =
        isLast && this.#random.once(theme === "upgrades" ? 1 : 5)
          ? upgradeScript(id, this.#random)
          : plainScript(id, this.#random, isLast, theme);
      this.#scripts.set(id, script);
      return script;
    });
  }

  async #untilNothingHappens(): Promise<void> {
    for (;;) {
      await toldAll();
      let step = this.#nextStep();
      if (!step) {
        await turned();
        step = this.#nextStep();
      }
      if (!step) return;
      this.#steps += 1;
      if (this.#steps > stepsMax) return void this.#faults.push("it never comes to rest");
      step.run();
    }
  }

  /** A random party with a possible step, and one of its steps. */
  #nextStep(): Step | undefined {
    const parties = [...this.#clients, ...this.#sandboxes].flatMap((end) => {
      const steps = end.steps();
      if (end.wire.isDeliverable) {
        steps.push({ run: () => end.wire.deliver(this.#random.pick(deliveries)), isLast: false });
      }
      return steps.length > 0 ? [steps] : [];
    });
    if (this.#held.length > 0) parties.push([{ run: () => this.#release(), isLast: false }]);
    const sooner = parties.map((steps) => steps.filter(({ isLast }) => !isLast)).filter((steps) => steps.length > 0);
    const choices = sooner.length > 0 ? sooner : parties;
    return choices.length > 0 ? this.#random.pick(this.#random.pick(choices)) : undefined;
  }

  #release(): void {
    this.#held.splice(this.#random.below(this.#held.length), 1)[0]?.();
  }

  #hostOf(): ConnectionHost {
    const heads = new HeadBudget();
    const proxy = createHttp1Proxy({
      ...limits,
      ...{ pool: this.#pool, clock: this.#clock, sweep: this.#sweep, loans: this.#loans, heads },
    });
    const serve = async (exchange: Exchange) => {
      try {
        if (this.#random.once(2)) await new Promise<void>((resolve) => this.#held.push(resolve));
        if (exchange.left) throw new ClientGone("the client left");
        const socket = this.#pool.take(target, exchange.head) ?? this.#dial();
        await proxy(exchange, { target, socket }, how);
      } catch (error) {
        if (error instanceof ClientGone || !exchange.answerable) return exchange.abort();
        exchange.answer(toResponse(toActivatorError(error)));
      }
    };
    return {
      ...{
        parser: new RequestHeadParser(),
        loans: this.#loans,
        heads,
        lingering: new LingeringClients(),
        draining: false,
        accepting: true,
      },
      ...{ headersTimeoutMs: 10_000, keepAliveTimeoutMs: 60_000, streamIdleMs: 0 },
      giveParser() {
        const { parser } = this;
        Object.assign(this, { parser: new RequestHeadParser() });
        return parser;
      },
      nowMs: () => this.#clock.ticksMs(),
      began: (exchange) => {
        this.#underWay += 1;
        void serve(exchange);
      },
      ended: () => {
        this.#underWay -= 1;
      },
      refused: (error) => void this.#faults.push(`refused: ${error.message}`),
      yielded: () => false,
      closed: (connection) => {
        this.#open -= 1;
        this.#sweep.remove(connection);
      },
    };
  }

  #dial() {
    const wire = new FakeWire();
    this.#sandboxes.push(new SandboxEnd(wire, this.#scripts, this.#random));
    return asSocket(wire);
  }

  /** Checks that every response was complete, except those that were cut, or whose client left. */
  #judge(client: ClientEnd): void {
    client.finish();
    this.#faults.push(...client.check.faults);
    if (client.hasLeft) return;
    for (const [at, { id, cutAt, kind, afterwards, readsRest }] of client.scripts.entries()) {
      const outcome = client.check.outcomes[at];
      if (cutAt !== undefined || (kind === "upgrade" && afterwards === "resets")) return;
      if (outcome !== "whole") this.#faults.push(`request ${id} got ${outcome} of its answer`);
      const isHeard = this.#sandboxes.some(({ heard }) => heard.has(id));
      if (readsRest && !isHeard) this.#faults.push(`the sandbox did not get the whole request ${id}`);
    }
  }
}

const deliveries = [1, 300, 5_000, 16_384, 131_072, 131_072, 131_072, 131_072] as const;

/** Resolves when all callbacks of the last step, and the promises that depend on them, have run. */
async function toldAll(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
}

/** Resolves in the next turn of the event loop, which is expensive. */
const turned = () => new Promise<void>((resolve) => setImmediate(resolve));
