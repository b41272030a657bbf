// A separate process that parses and converts reviews, one at a time: texts of clients and tenants take neither time nor
// memory of the process that keeps the Lease. It imports the conversion and nothing of the controller.
import { readSync, writeSync } from "node:fs";
import { answerReview, NoConversionReview, parseConversionReview } from "../../api/conversion/conversion-review.ts";
import { allKinds } from "../../api/conversion/convert.ts";
import { type ExactJson, parseExactJson } from "../../lib/data/exact-json.ts";
import { measureJson } from "../../lib/data/json-parts.ts";
import {
  answerBytesMax,
  type Converted,
  headBytes,
  headOf,
  nestingMax,
  partsMax,
  reportedTextMax,
} from "./convert-frames.ts";

const input = 0;
const output = 1;
const nothing = new Uint8Array(0);

for (let body = readBody(); body; body = readBody()) {
  const { about, answer } = convertBody(body);
  writeAll(headOf(about, answer.length));
  writeAll(answer);
}

/** The next one: four bytes with its length, and itself. Undefined when the controller has gone. */
function readBody(): Buffer | undefined {
  const head = readBytes(headBytes);
  return head && readBytes(head.readUInt32LE(0));
}

function readBytes(count: number): Buffer | undefined {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count; ) {
    const read = readSync(input, bytes, at, count - at, null);
    if (read === 0) return undefined;
    at += read;
  }
  return bytes;
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(output, bytes, at);
}

function convertBody(body: Buffer): { readonly about: Converted; readonly answer: Uint8Array } {
  try {
    const { parts, nesting } = measureJson(body);
    if (parts > partsMax) {
      const message = `the review has more than ${partsMax} opening brackets and commas`;
      return { about: { outcome: "refused", code: 413, message }, answer: nothing };
    }
    if (nesting > nestingMax) {
      const message = `the review is nested more than ${nestingMax} levels deep`;
      return { about: { outcome: "refused", code: 413, message }, answer: nothing };
    }
    const { value, restore } = parseJson(body.toString("utf8"));
    const ignored: string[] = [];
    const { text, failure } = answerReview(parseConversionReview(value), allKinds, ignored);
    const answer = Buffer.from(restore(text));
    if (answer.length > answerBytesMax) throw new Error(`the answer has more than ${answerBytesMax} bytes`);
    const about: Converted = {
      outcome: "answered",
      ignored: { count: ignored.length, first: ignored[0]?.slice(0, reportedTextMax) },
      failure: failure?.slice(0, reportedTextMax),
    };
    return { about, answer };
  } catch (error) {
    const message = (error instanceof Error ? error.message : String(error)).slice(0, reportedTextMax);
    if (error instanceof NoConversionReview) {
      return { about: { outcome: "refused", code: 400, message }, answer: nothing };
    }
    return { about: { outcome: "failed", message }, answer: nothing };
  }
}

function parseJson(text: string): ExactJson {
  try {
    // What is not converted is passed on as it is, int64 fields too.
    return parseExactJson(text);
  } catch (cause) {
    throw new NoConversionReview("the body is no JSON", { cause });
  }
}
