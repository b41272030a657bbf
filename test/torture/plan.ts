import type { SeededRandom } from "../support/seeded-random.ts";
import type { FrameOptions } from "./http2/frame-connection.ts";
import type { Pace, Sending } from "./link.ts";

/** The kinds of traffic; each can be omitted. */
export const kinds = [
  "http",
  "early",
  "http10",
  "tls",
  "upgrade",
  "tcp",
  "crowd",
  "silent",
  "sleep",
  "http2",
  "websocket",
  "grpc",
  "grpcWeb",
] as const;
export type Kind = (typeof kinds)[number];

/** What a sandbox does after its answer, or within it. */
export type AnswerEnding =
  /** Waits for the next request. */
  | "keep"
  /** Announces the close, and closes. */
  | "announce"
  /** Closes without announcing it. */
  | "silent"
  | "reset";

export interface AnswerPlan {
  /** Before it reads the request body, at its first bytes, or after it. */
  readonly when: "first" | "during" | "after";
  /** Whether it reads the rest of the request when it answers before its end. */
  readonly readsOn: boolean;
  readonly delayMs: number;
  readonly interims: number;
  readonly bytes: number;
  readonly framing: "length" | "chunked" | "close";
  readonly sending: Sending;
  /** The number of body bytes after which it resets the connection. Absent: it sends all. */
  readonly cutAt?: number;
  readonly ending: AnswerEnding;
  /** The time between its last byte and the ending. */
  readonly endAfterMs: number;
}

export interface UploadPlan {
  readonly bytes: number;
  readonly framing: "length" | "chunked";
  readonly sending: Sending;
  /** The number of body bytes after which the client waits for the whole response before it sends on. Absent: it does not wait. */
  readonly pausesAt?: number;
}

export interface ExchangePlan {
  readonly kind: "exchange";
  readonly id: number;
  readonly sandbox: string;
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  readonly minorVersion: 0 | 1;
  /** Whether the client announces that more requests may follow. If not, this is its last one. */
  readonly keepsAlive: boolean;
  readonly upload: UploadPlan | undefined;
  /** How fast the sandbox reads. */
  readonly reading: Pace;
  readonly answer: AnswerPlan;
}

/** The sandbox may answer while the client still sends. */
export const isEarly = ({ answer, upload }: ExchangePlan): boolean => upload !== undefined && answer.when !== "after";

/** The sandbox answers completely, and reads the whole request, before its answer or after it. */
export const readsAll = (plan: ExchangePlan): boolean => {
  const { readsOn, cutAt, ending } = plan.answer;
  return !isEarly(plan) || (readsOn && cutAt === undefined && (ending === "keep" || ending === "announce"));
};

/** When a side of a conversation closes: when it has sent all, also received all, or also received the other side's end. */
export type LastWord = "sent" | "heardAll" | "heardEnd";

export interface SpeakerPlan {
  readonly bytes: number;
  readonly sending: Sending;
  readonly reading: Pace;
  readonly ends: LastWord;
  /** The number of sent and received bytes after which it resets the connection. Absent: it does not. */
  readonly resetAt?: number;
}

/** The frames of one side of a WebSocket. */
export interface FramesPlan {
  /** How many bytes of its stream each has, except the last. */
  readonly bytes: number;
  /** It sends a close frame before its end. */
  readonly closes: boolean;
}

/** What makes a conversation a call of gRPC. */
export interface CallPlan {
  /** When the program answers: after the whole request, or before. */
  readonly answers: "after" | "atOnce";
  readonly delayMs: number;
  readonly status: number;
  /** The response is a head that says how the call ended. */
  readonly isHeadAlone: boolean;
  /** The time that the client allows. Absent: no limit. */
  readonly deadlineMs?: number;
  /** The code of a reset of the program. */
  readonly resetCode: number;
  /** What becomes of the connection of the program when the call begins. */
  readonly connection: "keep" | "goaway" | "reset" | "offence";
  /** The client calls it by gRPC-Web. */
  readonly web?: WebPlan;
}

/** The form of a call of gRPC-Web. */
export interface WebPlan {
  /** Its messages are in base64, both ways. */
  readonly isText: boolean;
  /** Over HTTP/1.1 the length of the request is announced. */
  readonly sendsLength: boolean;
}

/** A conversation in both directions: after a 101, on a TCP connection to a sandbox, or on a stream of HTTP/2. */
export interface TalkPlan {
  readonly kind: "talk";
  readonly id: number;
  readonly sandbox: string;
  readonly by: "upgrade" | "tcp" | "stream";
  /** It is a WebSocket, or a call of gRPC with messages. */
  readonly frames?: { readonly client: FramesPlan; readonly pod: FramesPlan };
  readonly call?: CallPlan;
  /** The number of the client's bytes that are sent before the answer to the request. */
  readonly ahead: number;
  /** The number of the sandbox's bytes that are sent together with its 101. */
  readonly early: number;
  readonly client: SpeakerPlan;
  readonly pod: SpeakerPlan;
}

export interface HttpSession {
  readonly kind: "http";
  readonly tls: boolean;
  /** The number of requests in flight. */
  readonly depth: number;
  readonly reading: Pace;
  /** The number of sent and received bytes after which the client resets. */
  readonly resetAt?: number;
  readonly exchanges: readonly ExchangePlan[];
}

export interface TalkSession {
  readonly kind: "talk";
  readonly tls: boolean;
  readonly talk: TalkPlan;
}

/** One request on a stream of HTTP/2. */
export interface StreamPlan {
  readonly exchange: ExchangePlan;
  /** The response is read at this pace; what is not read holds the window of the stream. */
  readonly reading: Pace;
  /** The number of sent and received bytes of bodies after which the client resets the stream. */
  readonly resetAt?: number;
  readonly resetCode: number;
  /** Whether the last frame of data ends the request, and no frame of its own. */
  readonly endsWithData: boolean;
}

/** A connection of HTTP/2, whose streams may be of any sandboxes. */
export interface Http2Session {
  readonly kind: "http2";
  readonly tls: boolean;
  /** The number of streams that are open at a time. */
  readonly depth: number;
  readonly link: FrameOptions;
  /** How the socket is read: what is not read fills the buffers of the kernel. */
  readonly reading: Pace;
  /**
   * The number of bytes of the connection after which the client ends it in the middle: by a reset, by an end, or by a GOAWAY and a frame
   * for which the activator must end it.
   */
  readonly endAt?: number;
  readonly endsBy: "reset" | "end" | "offence";
  /** The name of that frame. */
  readonly offence: string;
  readonly streams: readonly StreamPlan[];
}

export type Visit = "close" | "reset" | "halfHead" | "halfHandshake" | "unread" | "tcpClose" | "tcpReset";

/** WebSockets, or calls of gRPC or gRPC-Web, over one connection of HTTP/2. */
export interface StreamTalksSession {
  readonly kind: "webSockets" | "calls" | "webCalls";
  /** The calls are sent over HTTP/1.1, each on a connection of its own. */
  readonly byHttp1?: boolean;
  /** The number of streams that are open at a time. */
  readonly depth: number;
  readonly tls: boolean;
  readonly link: FrameOptions;
  readonly talks: readonly TalkPlan[];
}

/** Connections that are closed early. */
export interface CrowdSession {
  readonly kind: "crowd";
  readonly visits: readonly { readonly how: Visit; readonly afterMs: number; readonly plan: ExchangePlan }[];
}

/** Connections to the TLS port that never finish their handshake. `said`: the bytes that each sends of its first message. */
export interface SilentSession {
  readonly kind: "silent";
  readonly said: readonly number[];
}

export type Session = HttpSession | Http2Session | TalkSession | StreamTalksSession | CrowdSession | SilentSession;

/** Sizes at which buffers fill: of text, of writes ahead, of reads, of a read buffer. */
const edges = [1, 4_096, 16_384, 65_536, 131_072, 262_144];

/** Ranges that many plans draw from. */
export class Draw {
  readonly random: SeededRandom;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  between(least: number, most: number): number {
    return least + this.random.below(most - least + 1);
  }

  /** Equally likely in each order of magnitude. */
  magnitude(least: number, most: number): number {
    const share = this.random.below(1_000_000) / 1_000_000;
    return Math.round(least * (most / least) ** share);
  }

  chance(percent: number): boolean {
    return this.random.below(100) < percent;
  }

  /** A number near one of the sizes at which the behaviour changes. */
  nearEdge(): number {
    return Math.max(0, this.random.oneOf(edges) + this.between(-300, 300));
  }

  size(): number {
    const choice = this.random.below(10);
    if (choice === 0) return 0;
    if (choice < 4) return this.nearEdge();
    if (choice < 8) return this.magnitude(1, 60_000);
    return this.magnitude(60_000, 600_000);
  }

  /** Sends all at once or in pieces. Small pieces only for few bytes, because each wait takes long on a busy machine. */
  sending(bytes: number): Sending {
    // Pieces that are larger than what is copied, and smaller than the write buffer of a TLS socket.
    if (bytes > 100_000 && this.chance(30)) return { pieceBytes: this.between(16_384, 65_536), everyMs: 1 };
    if (bytes < 3_000 && this.chance(25)) {
      return { pieceBytes: this.between(Math.ceil((bytes + 1) / 60), 400), everyMs: this.between(0, 8) };
    }
    if (bytes < 400_000 && this.chance(30)) {
      return { pieceBytes: this.magnitude(1_000, 40_000), everyMs: this.between(0, 6) };
    }
    return { pieceBytes: this.random.oneOf([8_192, 16_384, 65_536, 131_072, 1_048_576]), everyMs: 0 };
  }

  /** A pace at which `bytes` bytes take about `ms` milliseconds. */
  slowFor(bytes: number, ms: number): Pace {
    const tickMs = this.between(2, 25);
    return { waitMs: 0, tickMs, bytesPerTick: Math.max(512, Math.round((bytes * tickMs) / ms)) };
  }

  pace(bytes: number): Pace {
    const choice = this.random.below(10);
    if (choice < 6) return { waitMs: 0, bytesPerTick: Number.POSITIVE_INFINITY, tickMs: 0 };
    if (choice < 8) return this.slowFor(bytes, this.between(50, 600));
    return { waitMs: this.between(20, 400), bytesPerTick: Number.POSITIVE_INFINITY, tickMs: 0 };
  }
}
