import type { Refusal } from "../../activator/http1/parse/refusals.ts";
import type { AnsweredRequest } from "../../activator/http1/parse/response-head-parser.ts";
import { generate, mutate } from "./generate.ts";
import { Llhttp } from "./llhttp.ts";
import { Random } from "./random.ts";
import { readWire, type Side } from "./wire-reader.ts";

export interface Disagreement {
  readonly wire: string;
  readonly side: Side;
  readonly complaint: string;
}

export interface Comparison {
  streams: number;
  acceptedMessages: number;
  /** Messages that we accept and llhttp does not, or reads with other contents or another end. Must stay empty. */
  readonly disagreements: Disagreement[];
  /** The number of times that only we rejected, by reason. */
  readonly onlyWeRefuse: Map<Refusal, number>;
}

export class Differential {
  readonly comparison: Comparison = {
    streams: 0,
    acceptedMessages: 0,
    disagreements: [],
    onlyWeRefuse: new Map(),
  };
  readonly #llhttp = new Llhttp();

  /** Reads one stream with both parsers, message by message, at the starts that ours finds. */
  compare(side: Side, wire: string, answers?: AnsweredRequest): void {
    const { comparison } = this;
    const bytes = Buffer.from(wire, "latin1");
    const { messages, refusal, end } = readWire(side, bytes, answers);
    comparison.streams++;
    for (const message of messages) {
      comparison.acceptedMessages++;
      const complaint = this.#llhttp.complaint(side, message, bytes.subarray(message.start, message.end));
      if (complaint !== undefined) comparison.disagreements.push({ wire, side, complaint });
    }
    if (refusal === undefined || !this.#llhttp.accepts(side, bytes.subarray(end))) return;
    comparison.onlyWeRefuse.set(refusal, (comparison.onlyWeRefuse.get(refusal) ?? 0) + 1);
  }
}

const answered: readonly AnsweredRequest[] = [
  { isHead: false, askedUpgrade: false },
  { isHead: true, askedUpgrade: false },
  { isHead: false, askedUpgrade: true },
];

/**
 * Compares ours with llhttp on `count` streams, half of them generated and half mutated, three requests to one
 * response. The same seed gives the same streams. Stops early at ten disagreements.
 */
export function compareRandomStreams(seed: number, streams: number): Comparison {
  const random = new Random(seed);
  const differential = new Differential();
  const { comparison } = differential;
  while (comparison.streams < streams && comparison.disagreements.length < 10) {
    const side: Side = random.once(4) ? "response" : "request";
    const wire = random.once(2) ? generate(random, side) : mutate(random, side);
    differential.compare(side, wire, side === "response" ? random.pick(answered) : undefined);
  }
  return comparison;
}
