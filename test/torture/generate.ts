import { seededRandom } from "../support/seeded-random.ts";
import { crowded, ExchangeGenerator, framesOf } from "./generate-exchange.ts";
import { http2Session, linkOf } from "./http2/generate.ts";
import { callsSession, webCallsSession } from "./http2/generate-calls.ts";
import {
  type AnswerPlan,
  type CrowdSession,
  Draw,
  type ExchangePlan,
  type HttpSession,
  type Kind,
  type LastWord,
  type Session,
  type SilentSession,
  type SpeakerPlan,
  type StreamTalksSession,
  type TalkPlan,
  type TalkSession,
  type Visit,
} from "./plan.ts";
import { paused, rude, sleepers, steady } from "./sandboxes.ts";

/** The number of ids of one client. */
const idsOfClient = 2 ** 20;

/** The sessions of a client, determined by the seed, the client's number and the session's number. */
export class Generator {
  readonly #seed: number;
  readonly #client: number;
  readonly #kinds: ReadonlySet<Kind>;
  readonly #exchanges: ExchangeGenerator;
  #session = 0;
  #ids = 0;

  constructor(seed: number, client: number, chosen: ReadonlySet<Kind>) {
    this.#seed = seed;
    this.#client = client;
    this.#kinds = chosen;
    this.#exchanges = new ExchangeGenerator(chosen, () => this.#nextId());
  }

  next(): Session {
    this.#session += 1;
    const draw = new Draw(seededRandom(scatter(scatter(this.#seed) + this.#client * 65_537 + this.#session)));
    for (;;) {
      const session = this.#choose(draw, draw.random.below(190));
      if (session) return session;
    }
  }

  /** Undefined if this kind is omitted. */
  #choose(draw: Draw, choice: number): Session | undefined {
    const has = (kind: Kind) => this.#kinds.has(kind);
    if (choice < 20) return has("http") ? this.#smallTalk(draw) : undefined;
    if (choice < 34) return has("http") ? this.#downloads(draw) : undefined;
    if (choice < 44) return has("http") ? this.#stalled(draw) : undefined;
    if (choice < 53) return has("http") ? this.#uploads(draw) : undefined;
    if (choice < 63) return has("early") ? this.#early(draw) : undefined;
    if (choice < 74) return has("upgrade") ? this.#upgrade(draw) : undefined;
    if (choice < 85) return has("tcp") ? this.#tcp(draw) : undefined;
    if (choice < 91) return has("sleep") ? this.#sleepy(draw) : undefined;
    if (choice < 97) return has("crowd") ? this.#crowd(draw) : undefined;
    if (choice < 100) return has("silent") ? silent(draw) : undefined;
    if (choice < 130) return has("http2") ? http2Session(draw, this.#exchanges, this.#kinds) : undefined;
    if (choice < 138) return has("websocket") ? this.#webSocket(draw) : undefined;
    if (choice < 150) return has("websocket") ? this.#webSockets(draw) : undefined;
    if (choice < 170) return has("grpc") ? callsSession(draw, () => this.#nextId(), this.#kinds) : undefined;
    return has("grpcWeb") ? webCallsSession(draw, () => this.#nextId(), this.#kinds) : undefined;
  }

  /** Many small exchanges on one connection, to all kinds of programs. */
  #smallTalk(draw: Draw): HttpSession {
    const sandbox = draw.random.oneOf(draw.chance(50) ? steady : rude);
    const exchanges = Array.from({ length: draw.between(1, 10) }, () =>
      this.#exchanges.exchange(draw, sandbox, draw.size()),
    );
    return this.#httpSession(draw, exchanges, { depth: draw.between(1, 8) });
  }

  /** Clients that read some megabytes a second. */
  #downloads(draw: Draw): HttpSession {
    const sandbox = crowded(draw);
    const exchanges = Array.from({ length: draw.between(1, 2) }, () =>
      this.#exchanges.exchange(draw, sandbox, draw.magnitude(2_000_000, 12_000_000)),
    );
    const bytes = exchanges.reduce((sum, { answer }) => sum + answer.bytes, 0);
    const perSecond = draw.magnitude(2_000_000, 20_000_000);
    const waitMs = draw.chance(60) ? draw.between(200, 4_000) : 0;
    const reading = { ...draw.slowFor(bytes, Math.min(4_000, (bytes / perSecond) * 1_000)), waitMs };
    return this.#httpSession(draw, exchanges, { depth: draw.between(1, 2), reading });
  }

  /** Pipelined requests of a client that then reads nothing for a while. */
  #stalled(draw: Draw): HttpSession {
    const sandbox = crowded(draw);
    const exchanges = Array.from({ length: draw.between(60, 140) }, () =>
      this.#exchanges.exchange(draw, sandbox, draw.magnitude(20_000, 180_000)),
    );
    const reading = { ...draw.slowFor(4_000_000, draw.between(200, 1_500)), waitMs: draw.between(800, 4_500) };
    return this.#httpSession(draw, exchanges, { depth: exchanges.length, reading });
  }

  #uploads(draw: Draw): HttpSession {
    const sandbox = draw.random.oneOf(draw.chance(50) ? steady : rude);
    const exchanges = Array.from({ length: draw.between(1, 3) }, () =>
      this.#exchanges.exchange(
        draw,
        sandbox,
        draw.size(),
        draw.chance(50) ? draw.magnitude(100_000, 6_000_000) : draw.size(),
      ),
    );
    return this.#httpSession(draw, exchanges, { depth: draw.between(1, 3) });
  }

  #early(draw: Draw): HttpSession {
    return draw.chance(60) ? this.#answerFirst(draw) : this.#answerAndClose(draw);
  }

  #answerFirst(draw: Draw): HttpSession {
    const exchanges = this.#exchanges.answeredFirst(draw);
    return this.#httpSession(draw, exchanges, { depth: draw.between(1, 3) });
  }

  /** Answers before the upload is read, by programs that then close. */
  #answerAndClose(draw: Draw): HttpSession {
    const bytes = draw.chance(30) ? draw.size() : draw.magnitude(3_000_000, 9_000_000);
    const uploadBytes = draw.magnitude(500_000, 20_000_000);
    const planned = this.#exchanges.exchange(draw, draw.random.oneOf(rude), bytes, uploadBytes);
    const answer: AnswerPlan = {
      ...planned.answer,
      when: draw.random.oneOf(["first", "during"]),
      readsOn: draw.chance(30),
      ending: draw.random.oneOf(["reset", "reset", "silent", "announce", "keep"]),
      endAfterMs: draw.between(0, 1_500),
    };
    const slow = { ...draw.slowFor(bytes, draw.between(100, 2_000)), waitMs: draw.between(0, 1_500) };
    return this.#httpSession(draw, [{ ...planned, answer }], { depth: 1, reading: slow });
  }

  /** Exchanges with sandboxes that are suspended, by inactivity or manually, and resumed meanwhile. */
  #sleepy(draw: Draw): HttpSession {
    const sandbox = draw.random.oneOf(draw.chance(70) ? sleepers : paused);
    const exchanges = Array.from({ length: draw.between(1, 4) }, () =>
      this.#exchanges.exchange(draw, sandbox, draw.size(), draw.chance(40) ? draw.size() : 0),
    );
    return this.#httpSession(draw, exchanges, { depth: draw.between(1, 4) });
  }

  #httpSession(
    draw: Draw,
    exchanges: readonly ExchangePlan[],
    { depth, reading }: Pick<HttpSession, "depth"> & Partial<Pick<HttpSession, "reading">>,
  ): HttpSession {
    const bytes = exchanges.reduce((sum, { answer, upload }) => sum + answer.bytes + (upload?.bytes ?? 0), 0);
    return {
      kind: "http",
      tls: this.#kinds.has("tls") && draw.chance(40),
      depth,
      reading: reading ?? draw.pace(bytes),
      ...(draw.chance(8) && { resetAt: draw.between(0, bytes + 500) }),
      exchanges,
    };
  }

  #upgrade(draw: Draw): TalkSession {
    const tls = this.#kinds.has("tls") && draw.chance(35);
    const { talk } = tls && draw.chance(50) ? this.#stalledTalk(draw) : this.#talk(draw, tls);
    const ahead = draw.chance(35)
      ? Math.min(talk.client.bytes, draw.chance(50) ? draw.between(1, 200) : draw.size())
      : 0;
    const early = draw.chance(50) ? Math.min(talk.pod.bytes, draw.size()) : 0;
    return { kind: "talk", tls, talk: { ...talk, by: "upgrade", ahead, early } };
  }

  /** A WebSocket over HTTP/1.1. */
  #webSocket(draw: Draw): TalkSession {
    const session = this.#upgrade(draw);
    return { ...session, talk: { ...session.talk, ahead: 0, frames: framesOf(draw, session.talk) } };
  }

  #webSockets(draw: Draw): StreamTalksSession {
    const talks = Array.from({ length: draw.between(1, 5) }, (): TalkPlan => {
      const { talk } = this.#talk(draw, false);
      const ahead = draw.chance(30) ? Math.min(talk.client.bytes, draw.between(1, 30_000)) : 0;
      const early = draw.chance(50) ? Math.min(talk.pod.bytes, draw.size()) : 0;
      return { ...talk, by: "stream", ahead, early, frames: framesOf(draw, talk) };
    });
    const bytesMax = Math.max(...talks.map(({ pod }) => pod.bytes));
    const tls = this.#kinds.has("tls") && draw.chance(45);
    return { kind: "webSockets", tls, depth: talks.length, link: linkOf(draw, bytesMax), talks };
  }

  /** A TLS client that reads nothing for a while, and a sandbox that sends more than all buffers hold. */
  #stalledTalk(draw: Draw): TalkSession {
    const session = this.#talk(draw, true);
    const { talk } = session;
    const pod = { ...talk.pod, bytes: draw.magnitude(5_000_000, 12_000_000) };
    const sending = { pieceBytes: draw.between(16_384, 65_536), everyMs: 1 };
    const reading = { ...draw.slowFor(pod.bytes, draw.between(500, 3_000)), waitMs: draw.between(200, 1_500) };
    return { ...session, talk: { ...talk, pod: { ...pod, sending }, client: { ...talk.client, reading } } };
  }

  #tcp(draw: Draw): TalkSession {
    return this.#talk(draw, false);
  }

  #talk(draw: Draw, tls: boolean): TalkSession {
    const sizes = () => (draw.chance(25) ? draw.magnitude(300_000, 4_000_000) : draw.size());
    const [upBytes, downBytes] = [sizes(), sizes()];
    // Our TLS does not support half-open connections, so the sandbox closes first.
    const orders: readonly (readonly [LastWord, LastWord])[] = tls
      ? [["heardEnd", "heardAll"]]
      : [
          ["sent", "heardEnd"],
          ["heardEnd", "sent"],
          ["sent", "sent"],
          ["heardAll", "heardEnd"],
          ["heardAll", "heardAll"],
        ];
    const [clientEnds, podEnds] = draw.random.oneOf(orders);
    const side = (bytes: number, heard: number, ends: LastWord): SpeakerPlan => ({
      bytes,
      sending: draw.sending(bytes),
      reading: draw.pace(heard),
      ends,
      ...(draw.chance(12) && { resetAt: draw.between(0, bytes + heard) }),
    });
    const talk = {
      kind: "talk",
      by: "tcp",
      id: this.#nextId(),
      sandbox: draw.random.oneOf(draw.chance(60) ? steady : rude),
      ahead: 0,
      early: 0,
      client: side(upBytes, downBytes, clientEnds),
      pod: side(downBytes, upBytes, podEnds),
    } as const;
    return { kind: "talk", tls, talk };
  }

  #crowd(draw: Draw): CrowdSession {
    const ways: readonly Visit[] = [
      ...(["close", "reset", "halfHead", "unread"] as const),
      ...(this.#kinds.has("tls") ? (["halfHandshake"] as const) : []),
      ...(this.#kinds.has("tcp") ? (["tcpClose", "tcpClose", "tcpReset"] as const) : []),
    ];
    const visits = Array.from({ length: draw.between(20, 150) }, () => ({
      how: draw.random.oneOf(ways),
      afterMs: draw.between(0, 40),
      plan: this.#exchanges.exchange(draw, draw.random.oneOf(steady), draw.size()),
    }));
    return { kind: "crowd", visits };
  }

  #nextId(): number {
    this.#ids += 1;
    return this.#client * idsOfClient + this.#ids;
  }
}

function silent(draw: Draw): SilentSession {
  return {
    kind: "silent",
    said: Array.from({ length: draw.between(1, 4) }, () => (draw.chance(50) ? 0 : draw.between(1, 200))),
  };
}

/** Mixes numbers, so that close seeds give different choices. */
function scatter(number: number): number {
  let mixed = Math.imul(number ^ (number >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
