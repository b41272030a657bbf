import type { ServerHttp2Stream } from "node:http2";
import { guarded } from "../../../lib/guard/guard.ts";
import { StallWatch } from "../../pod-connections/stall-watch.ts";
import type { Watched } from "../../sweep.ts";
import { cutStream } from "./cut-stream.ts";
import type { StreamHost } from "./stream-host.ts";

/** The rest of a response that is written, and that its client still has to take. A client that takes nothing is reset. */
export class AnswerTail implements Watched {
  sweepIndex = -1;
  readonly #stream: ServerHttp2Stream;
  readonly #host: Pick<StreamHost, "sweep" | "nowMs">;
  readonly #stall = new StallWatch();

  /** `limitMs`: how long the client may take nothing; 0: unlimited. */
  constructor(stream: ServerHttp2Stream, limitMs: number, host: Pick<StreamHost, "sweep" | "nowMs">) {
    this.#stream = stream;
    this.#host = host;
    this.#stall.limit(limitMs, host.nowMs());
  }

  watch(): void {
    if (this.#stream.destroyed) return;
    this.#host.sweep.add(this);
    this.#stream.once(
      "close",
      guarded("http-front", () => this.#host.sweep.remove(this)),
    );
  }

  check(nowMs: number): void {
    if (this.#stall.isStalled(this.#stream.bufferSize, nowMs)) cutStream(this.#stream);
  }
}
