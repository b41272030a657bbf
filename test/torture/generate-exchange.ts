import type { Draw, ExchangePlan, FramesPlan, Kind, SpeakerPlan, TalkPlan } from "./plan.ts";
import { paused, rude, sleepers, steady } from "./sandboxes.ts";

/** Plans exchanges, whatever protocol carries them. */
export class ExchangeGenerator {
  readonly #kinds: ReadonlySet<Kind>;
  readonly #nextId: () => number;

  constructor(chosen: ReadonlySet<Kind>, nextId: () => number) {
    this.#kinds = chosen;
    this.#nextId = nextId;
  }

  /** Complete answers before the upload is read, by programs that then read all of it: 202 first, then they store it. */
  answeredFirst(draw: Draw): readonly ExchangePlan[] {
    const sandbox = draw.random.oneOf(draw.random.oneOf([steady, steady, sleepers, paused]));
    return Array.from({ length: draw.between(1, 4) }, () => {
      const bytes = draw.chance(80) ? draw.size() : draw.magnitude(500_000, 4_000_000);
      const uploadBytes = draw.chance(50) ? 1 + draw.size() : draw.magnitude(100_000, 8_000_000);
      const planned = this.exchange(draw, sandbox, bytes, uploadBytes);
      const when = draw.random.oneOf(["first", "during"] as const);
      const pausesAt = draw.between(when === "first" ? 0 : 1, uploadBytes - 1);
      const framing = draw.random.oneOf(["length", "chunked"] as const);
      const answer = { ...planned.answer, when, readsOn: true, framing, ending: draw.random.oneOf(readers) };
      const upload = planned.upload && { ...planned.upload, ...(draw.chance(60) && { pausesAt }) };
      return { ...planned, upload, answer };
    });
  }

  exchange(draw: Draw, sandbox: string, bytes: number, uploadBytes = 0): ExchangePlan {
    const isRude = rude.includes(sandbox);
    const minorVersion = this.#kinds.has("http10") && draw.chance(12) ? 0 : 1;
    const upload = uploadBytes > 0 && {
      bytes: uploadBytes,
      // HTTP/1.0 has no chunks.
      framing: minorVersion === 1 && draw.chance(40) ? ("chunked" as const) : ("length" as const),
      sending: draw.sending(uploadBytes),
    };
    const isCut = isRude && draw.chance(10);
    const ending = isRude && draw.chance(25) ? draw.random.oneOf(["announce", "silent", "reset"] as const) : "keep";
    const framing = draw.random.oneOf(["length", "length", "chunked", "chunked", "close"] as const);
    return {
      kind: "exchange",
      id: this.#nextId(),
      sandbox,
      method: upload ? draw.random.oneOf(["POST", "PUT"]) : draw.chance(4) ? "HEAD" : "GET",
      minorVersion,
      keepsAlive: draw.chance(minorVersion === 1 ? 95 : 40),
      upload: upload || undefined,
      reading: draw.pace(uploadBytes),
      answer: {
        when: isRude && draw.chance(20) ? draw.random.oneOf(["first", "during"]) : "after",
        readsOn: draw.chance(60),
        delayMs: draw.chance(15) ? draw.between(1, 150) : 0,
        interims: draw.chance(5) ? draw.between(1, 3) : 0,
        bytes,
        framing: sleepers.includes(sandbox) || draw.chance(40) ? "length" : framing,
        sending: draw.sending(bytes),
        ...(isCut && { cutAt: draw.between(0, bytes) }),
        ending,
        endAfterMs: draw.chance(50) ? 0 : draw.between(0, 60),
      },
    };
  }
}

/** What a program does that reads all after its answer. */
const readers = ["keep", "keep", "keep", "announce"] as const;

/** Mostly the same sandbox, so that clients reuse each other's connections to it. */
export const crowded = (draw: Draw): string => (draw.chance(75) ? (steady[0] ?? "") : draw.random.oneOf(rude));

/** Frames of a WebSocket, or messages of a call. */
export function framesOf(
  draw: Draw,
  { client, pod }: Pick<TalkPlan, "client" | "pod">,
): NonNullable<TalkPlan["frames"]> {
  const side = ({ bytes }: SpeakerPlan): FramesPlan => {
    const frame = draw.chance(30) ? draw.between(100, 2_000) : draw.chance(50) ? draw.nearEdge() : draw.size();
    return { bytes: Math.max(1, Math.ceil(bytes / 3_000), frame), closes: draw.chance(70) };
  };
  return { client: side(client), pod: side(pod) };
}
