import type { BodyFramer } from "./body-framer.ts";

/** How far a body has come, see `BodyStep`. */
export type BodyProgress = "more" | "complete" | "refused";

/** Takes the parts of a body that are to be passed on. */
export interface BodyParts {
  part(bytes: Buffer, from: number, to: number): void;
}

/**
 * Runs what was read through the framer and passes on what belongs to the body: with its chunk framing where it is
 * `raw`, but without chunk extensions and trailers, or its data alone. Afterwards `framer.at` is where reading stopped.
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
