import { setTimeout as delay } from "node:timers/promises";

/** The activators write their lines some 50 ms after the response; on a busy machine they take longer. */
const lineLimitMs = 3_000;
const everyMs = 20;

/** Why the activators rejected requests, by their access logs. A client of gRPC gets one text for several reasons. */
export class Rejections {
  readonly #reasons = new Map<string, string[]>();

  hear(line: string): void {
    if (!line.includes('"reason":')) return;
    const { sandbox_id: sandbox, reason } = JSON.parse(line);
    const reasons = this.#reasons.get(sandbox) ?? [];
    this.#reasons.set(sandbox, [...reasons, reason]);
  }

  /** All reasons so far for requests to that sandbox. */
  of(sandbox: string): readonly string[] {
    return this.#reasons.get(sandbox) ?? [];
  }

  /** Resolves with the reason of that number, beginning with 0, or with undefined after some seconds without it. */
  async reasonOf(sandbox: string, index: number): Promise<string | undefined> {
    for (let waitedMs = 0; waitedMs < lineLimitMs; waitedMs += everyMs) {
      const reason = this.of(sandbox)[index];
      if (reason !== undefined) return reason;
      await delay(everyMs);
    }
    return undefined;
  }
}
