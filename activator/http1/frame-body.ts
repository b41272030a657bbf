import type { BodyFramer } from "./parse/body-framer.ts";

/** The progress of a body, see `BodyStep`. */
export type BodyProgress = "more" | "complete" | "refused";

/** Takes the parts of a body that are forwarded. */
export interface BodyParts {
  part(bytes: Buffer, from: number, to: number): void;
}

/**
 * Frames the bytes and forwards the parts that belong to the body: if `raw`, with chunk framing but without extensions and
 * trailers, else the data alone. Then `framer.at` is the position where reading stopped.
 */
export function relayBody(
  framer: BodyFramer,
  bytes: Buffer,
  start: number,
  end: number,
  raw: boolean,
  parts: BodyParts,
): BodyProgress {
  let from = start;
  framer.at = start;
  for (;;) {
    const step = framer.next(bytes, framer.at, end);
    switch (step) {
      case "data":
        if (!raw) parts.part(bytes, framer.from, framer.to);
        continue;
      case "omit":
        if (raw && framer.from > from) parts.part(bytes, from, framer.from);
        from = framer.to;
        continue;
      case "refused":
        return step;
      default:
        if (raw && framer.at > from) parts.part(bytes, from, framer.at);
        return step;
    }
  }
}
