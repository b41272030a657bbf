import type { ServerHttp2Stream } from "node:http2";
import { guarded } from "../../../lib/guard/guard.ts";
import { StallWatch } from "../../pod-connections/stall-watch.ts";
import type { Watched } from "../../sweep.ts";
import { closeOnceEnded, isEnded } from "../close-once-ended.ts";
import { unreadAnswers } from "../room/unread-answers.ts";
import { cutStream } from "./cut-stream.ts";
import type { StreamHost } from "./stream-host.ts";

/** How many responses of the activator itself one connection may leave unread for the whole limit of an idle connection. */
const unreadMax = 100;
/** How long the client may take nothing of a further one, in milliseconds. Clients that read take their responses one by one. */
const crowdedMs = 5_000;

type TailHost = Pick<StreamHost, "sweep" | "nowMs" | "keepAliveTimeoutMs" | "streamIdleMs">;

export interface WrittenAnswer {
  /** The activator itself wrote it. */
  readonly isOwn: boolean;
  /** Whether the rest of the request still goes to the sandbox, and has limits of its own. Absent: it does not. */
  isUploading?(): boolean;
}

/**
 * The rest of a response that is written, and that its client still has to take. A client that takes nothing is reset. It watches the
 * stream until that is closed, but once the client has everything, nothing can move while its upload goes on: then no time counts.
 */
export class AnswerTail implements Watched {
  sweepIndex = -1;
  readonly #stream: ServerHttp2Stream;
  readonly #host: TailHost;
  readonly #answer: WrittenAnswer;
  readonly #stall = new StallWatch();
  #idleMs = 0;
  /** Set for an answer of the activator itself, until it is read or cut. */
  #read: (() => void) | undefined;

  constructor(stream: ServerHttp2Stream, host: TailHost, answer: WrittenAnswer) {
    this.#stream = stream;
    this.#host = host;
    this.#answer = answer;
  }

  watch(): void {
    const { session, destroyed } = this.#stream;
    const { isOwn } = this.#answer;
    if (destroyed) return;
    const others = isOwn && session ? unreadAnswers.of(session) : 0;
    this.#idleMs = this.#limitMs(others);
    if (isOwn && session) this.#read = unreadAnswers.add(session, this);
    this.#stall.limit(this.#idleMs, this.#host.nowMs());
    this.#host.sweep.add(this);
    this.#stream.on(
      "close",
      guarded("http-front", () => {
        this.#host.sweep.remove(this);
        this.#read?.();
      }),
    );
  }

  /** Nothing more of the request is wanted. */
  closeOnceEnded(): void {
    const { sweep } = this.#host;
    closeOnceEnded(this.#stream, { sweep, nowMs: this.#host.nowMs(), idleMs: this.#idleMs });
  }

  /** Too many answers are unread. */
  cut(): void {
    this.#read?.();
    cutStream(this.#stream);
  }

  check(nowMs: number): void {
    if (this.#answer.isUploading?.() && isEnded(this.#stream)) this.#stall.limit(this.#idleMs, nowMs);
    else if (this.#stall.isStalled(this.#stream.bufferSize, nowMs)) cutStream(this.#stream);
  }

  /** 0: unlimited. The activator's own responses are short, and go to unauthenticated clients too: their limit is shorter. */
  #limitMs(others: number): number {
    const { keepAliveTimeoutMs, streamIdleMs } = this.#host;
    if (!this.#answer.isOwn) return streamIdleMs;
    if (others < unreadMax) return keepAliveTimeoutMs;
    return keepAliveTimeoutMs > 0 ? Math.min(keepAliveTimeoutMs, crowdedMs) : crowdedMs;
  }
}
