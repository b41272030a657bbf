import { forbiddenFrames } from "../../malformed/forbidden-frames.ts";
import { crowded, type ExchangeGenerator } from "../generate-exchange.ts";
import { atOnce } from "../link.ts";
import type { Draw, ExchangePlan, Http2Session, Kind, StreamPlan } from "../plan.ts";
import { paused, rude, sleepers, steady } from "../sandboxes.ts";
import type { FrameOptions } from "./frame-connection.ts";

/** A connection of HTTP/2. */
export function http2Session(draw: Draw, exchanges: ExchangeGenerator, chosen: ReadonlySet<Kind>): Http2Session {
  const plans = plansOf(draw, exchanges, chosen);
  const bytes = sumOf(plans.map(({ answer, upload }) => answer.bytes + (upload?.bytes ?? 0)));
  return {
    kind: "http2",
    tls: chosen.has("tls") && draw.chance(45),
    depth: plans.length > 40 || draw.chance(40) ? plans.length : draw.between(1, 8),
    link: linkOf(draw, sumOf(plans.map(({ answer }) => answer.bytes))),
    reading: draw.chance(60) ? atOnce : draw.pace(bytes),
    ...(draw.chance(15) && { endAt: draw.between(0, bytes + 500) }),
    endsBy: draw.random.oneOf(["reset", "end", "offence"]),
    offence: draw.random.oneOf(Object.keys(forbiddenFrames)),
    streams: plans.map((exchange) => streamOf(draw, exchange)),
  };
}

export const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Each stream may be of another sandbox. */
function plansOf(draw: Draw, exchanges: ExchangeGenerator, chosen: ReadonlySet<Kind>): readonly ExchangePlan[] {
  const choice = draw.random.below(100);
  const all = [steady, steady, rude, ...(chosen.has("sleep") ? [sleepers, paused] : [])];
  const any = () => draw.random.oneOf(draw.random.oneOf(all));
  const list = (count: number, plan: () => ExchangePlan) => Array.from({ length: count }, plan);
  if (choice < 40) {
    const upload = () => (draw.chance(35) ? draw.size() : 0);
    return list(draw.between(1, 20), () => exchanges.exchange(draw, any(), draw.size(), upload()));
  }
  if (choice < 50) {
    const bytes = () => draw.magnitude(1, 3_000);
    const upload = () => (draw.chance(20) ? bytes() : 0);
    return list(draw.between(60, 250), () => exchanges.exchange(draw, crowded(draw), bytes(), upload()));
  }
  if (choice < 65) {
    return list(draw.between(1, 4), () => exchanges.exchange(draw, crowded(draw), draw.magnitude(500_000, 6_000_000)));
  }
  if (choice < 85 || !chosen.has("early")) {
    const bytes = () => (draw.chance(50) ? draw.magnitude(100_000, 4_000_000) : draw.size());
    return list(draw.between(1, 5), () => exchanges.exchange(draw, any(), draw.size(), bytes()));
  }
  return exchanges.answeredFirst(draw);
}

/**
 * With a small window each few bytes take a way there and back, so only short responses get one. `bytes`: of all responses, because they may
 * share one window. A suspension waits no longer for them than for other requests.
 */
export function linkOf(draw: Draw, bytes: number): FrameOptions {
  const window = draw.random.oneOf([1, 1_000, 16_384, 65_535, 65_535, 262_144, 1_048_576]) + draw.between(0, 300);
  return {
    windowBytes: Math.max(window, Math.ceil(bytes / 50)),
    sharesWindow: draw.chance(50),
    frameBytes: draw.random.oneOf([draw.between(100, 2_000), 8_192, 16_384, 16_384]),
    paddingBytes: draw.chance(20) ? draw.between(1, 255) : 0,
  };
}

function streamOf(draw: Draw, exchange: ExchangePlan): StreamPlan {
  const { answer, upload } = exchange;
  const bytes = answer.bytes + (upload?.bytes ?? 0);
  return {
    exchange,
    reading: draw.pace(answer.bytes),
    ...(draw.chance(12) && { resetAt: draw.chance(20) ? 0 : draw.between(0, bytes) }),
    resetCode: draw.random.oneOf([0, 2, 5, 8, 8]),
    endsWithData: draw.chance(50),
  };
}
