import { converseByHttp, type Seen, type SessionSeen } from "./client-http.ts";
import { converse, type TalkSeen } from "./client-talk.ts";
import { crowd, neverHandshake } from "./crowd.ts";
import type { Complaint, Findings } from "./findings.ts";
import type { Generator } from "./generate.ts";
import { converseByHttp2 } from "./http2/client.ts";
import { converseByStreams, type StreamTalkSeen } from "./http2/client-talks.ts";
import { judgeHttp2 } from "./http2/verdict.ts";
import { judgeCall } from "./http2/verdict-calls.ts";
import type { Http2Session, HttpSession, Session, StreamTalksSession, TalkPlan, TalkSession } from "./plan.ts";
import { type Excuse, judgeHttp, judgeTalk, owesUpload } from "./verdict.ts";
import type { World } from "./world.ts";

export interface ClientOptions {
  readonly index: number;
  readonly world: World;
  readonly findings: Findings;
  /** The activator under test. */
  readonly subject: { readonly deaths: number; untilReady(): Promise<void> };
  readonly generator: Generator;
}

type Uploads = Pick<SessionSeen, "exchanges" | "cut" | "stuck">;

/** One client. It runs one session after the other, and judges each when it has ended. */
export class Client {
  readonly #options: ClientOptions;
  readonly #handshakes: Promise<void>[] = [];
  #sessions = 0;
  /** The current session. */
  #session: Session | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { subject, generator, findings } = this.#options;
    while (!signal.aborted) {
      await subject.untilReady();
      this.#sessions += 1;
      this.#session = generator.next();
      findings.count(this.#session.kind);
      await this.#have(this.#session);
    }
    this.#session = undefined;
    await Promise.all(this.#handshakes);
  }

  /** Reports a session that has not ended. */
  expectOver(): void {
    if (!this.#session) return;
    const sent = JSON.stringify(this.#session).slice(0, 1_000);
    const complaint = { what: "a session that does not end", sent, expected: "an end", came: "none" };
    this.#options.findings.complain(this.#where, complaint);
  }

  get #where(): string {
    return `client ${this.#options.index}, session ${this.#sessions}`;
  }

  async #have(session: Session): Promise<void> {
    const { world, findings, subject } = this.#options;
    const { deaths } = subject;
    switch (session.kind) {
      case "http":
        return this.#complain(await this.#http(session));
      case "http2":
        return this.#complain(await this.#http2(session));
      case "talk":
        return this.#complain(await this.#talk(session));
      case "webSockets":
      case "calls":
      case "webCalls":
        return this.#complain(await this.#streamTalks(session));
      case "crowd":
        findings.count("connections of crowds", session.visits.length);
        return crowd(session, world);
      case "silent":
        this.#handshakes.push(
          neverHandshake(session, world, { findings, where: this.#where, ended: () => subject.deaths !== deaths }),
        );
    }
  }

  async #http(session: HttpSession): Promise<readonly Complaint[]> {
    const { world, subject } = this.#options;
    const { ledger } = world;
    const { deaths } = subject;
    const seen = await converseByHttp(session, world);
    await this.#untilUploaded(session, seen);
    const judge = (excuse: Excuse) => judgeHttp(session, seen, (id) => ledger.accountOf(id), excuse);
    const found = await this.#judge(deaths, judge, seen);
    this.#countExchanges(seen.exchanges, "exchanges");
    return found;
  }

  async #http2(session: Http2Session): Promise<readonly Complaint[]> {
    const { world, subject } = this.#options;
    const { deaths } = subject;
    const seen = await converseByHttp2(session, world);
    await this.#untilUploaded({ tls: false }, { ...seen, exchanges: seen.streams.filter(({ cut }) => !cut) });
    const accountOf = (id: number) => world.ledger.accountOf(id);
    const found = await this.#judge(deaths, (excuse) => judgeHttp2(session, seen, accountOf, excuse), seen);
    this.#countExchanges(seen.streams, "streams");
    return found;
  }

  #countExchanges(exchanges: readonly Seen[], what: string): void {
    const { world, findings } = this.#options;
    for (const { whole, asked, plan, down } of exchanges) {
      if (asked) findings.count(`${what} that were ${whole ? "whole" : "cut"}`);
      findings.count("MiB of responses", down.length / 2 ** 20);
      findings.count("MiB of uploads", world.ledger.accountOf(plan.id).up.length / 2 ** 20);
      world.ledger.close(plan.id);
    }
  }

  /** The last bytes of an upload are still on their way to a sandbox that answered before it reads. */
  async #untilUploaded(session: Pick<HttpSession, "tls">, { exchanges, cut, stuck }: Uploads): Promise<void> {
    const { ledger } = this.#options.world;
    if (cut || stuck) return;
    for (const exchange of exchanges) {
      const account = ledger.accountOf(exchange.plan.id);
      const isOver = () => account.lost !== undefined || !owesUpload(exchange, account, session);
      for (let before = -1; before !== account.up.length; await settled(isOver, quietMs)) before = account.up.length;
    }
  }

  async #talk(session: TalkSession): Promise<readonly Complaint[]> {
    const { world, subject, findings } = this.#options;
    const { deaths } = subject;
    const seen = await converse(session, world);
    if (!seen) findings.count("Services that led nowhere for a moment");
    return seen ? this.#judgeTalk(session, seen, deaths) : [];
  }

  async #streamTalks(session: StreamTalksSession): Promise<readonly Complaint[]> {
    const { world, subject, findings } = this.#options;
    const { deaths } = subject;
    const { talks, broken } = await converseByStreams(session, world);
    const judge = async (talk: TalkPlan, seen: StreamTalkSeen | undefined): Promise<readonly Complaint[]> => {
      if (!seen) return [];
      const { call } = talk;
      if (!call) return this.#judgeTalk({ talk, tls: session.tls }, seen, deaths);
      const account = world.ledger.accountOf(talk.id);
      const found = await this.#judge(
        deaths,
        (excuse) => judgeCall({ talk, call, session }, seen, account, excuse),
        seen,
      );
      findings.count(seen.grpcStatus === call.status ? "calls that were whole" : "calls that were cut");
      world.ledger.close(talk.id);
      return found;
    };
    const found = await Promise.all(session.talks.map((talk, index) => judge(talk, talks[index])));
    if (broken === undefined) return found.flat();
    const sent = `${session.talks.length} streams`;
    return [...found.flat(), { what: "HTTP/2: frames against the protocol", sent, expected: "frames", came: broken }];
  }

  async #judgeTalk(
    session: Pick<TalkSession, "talk" | "tls">,
    seen: TalkSeen,
    deaths: number,
  ): Promise<readonly Complaint[]> {
    const { ledger } = this.#options.world;
    // The last bytes of the client are still on their way, to a sandbox that may read them slowly.
    const { id } = session.talk;
    const account = ledger.accountOf(id);
    const wasRefused = seen.status !== 101;
    const isOver = () =>
      wasRefused ||
      account.upEnded ||
      account.reset ||
      account.lost !== undefined ||
      seen.cut ||
      seen.stuck !== undefined;
    for (let before = -1; before !== account.up.length; await settled(isOver, quietMs)) before = account.up.length;
    const found = await this.#judge(deaths, (excuse) => judgeTalk(session, seen, account, excuse), seen);
    this.#options.findings.count(seen.ending === "ended" ? "conversations that ended" : "conversations that were cut");
    ledger.close(id);
    return found;
  }

  /** The failures. After an exit of the activator only its own failure counts; the exit is known later than the end of connections. */
  async #judge(
    deaths: number,
    judge: (excuse: Excuse) => readonly Complaint[],
    { stuck }: { readonly stuck: string | undefined },
  ): Promise<readonly Complaint[]> {
    const { subject, findings } = this.#options;
    const hasEnded = () => subject.deaths !== deaths;
    if (judge({ activatorEnded: hasEnded() }).length > 0) await settled(hasEnded, 1_000);
    const found = judge({ activatorEnded: hasEnded() });
    if (found.length > 0 && stuck !== undefined) findings.note(stuck);
    return found;
  }

  #complain(complaints: readonly Complaint[]): void {
    for (const complaint of complaints) this.#options.findings.complain(this.#where, complaint);
  }
}

/** A conversation whose sandbox gets no byte and no end for this long was cut. Milliseconds. */
const quietMs = 10_000;

async function settled(reached: () => boolean, limitMs = 2_000): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!reached() && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 5));
}
