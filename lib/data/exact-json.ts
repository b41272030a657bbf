import { randomBytes } from "node:crypto";

declare global {
  /** ECMAScript "JSON.parse source text access", which TypeScript's library does not declare yet. */
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/** The value of a JSON text, with separate integers that a double cannot represent. */
export interface ExactJson {
  /** Each long integer is replaced by a marked string. */
  readonly value: unknown;
  /** Restores the long integers in a JSON text of the value, or of parts of it. */
  readonly restore: (text: string) => string;
}

/**
 * Like `JSON.parse`, except for integers beyond 2^53: an int64 that is only passed on must not change.
 * 9223372036854775807 as a double is no longer an int64. The work is one scan of the text beside `JSON.parse`, wherever
 * the text has digits, and some for each long integer. A reviver, which JavaScript calls for every value, would be twenty times as slow for a text of
 * digits.
 *
 * @throws SyntaxError when the text is not JSON.
 */
export function parseExactJson(text: string): ExactJson {
  const found = longIntegersIn(text, Number.POSITIVE_INFINITY);
  if (found.length === 0) return { value: JSON.parse(text), restore: (written) => written };
  const { value, mark } = parseMarked(text, found);
  // With a backslash: in a JSON text that is itself a string in the JSON.
  const marked = new RegExp(`\\\\?"${mark}(-?\\d+)\\\\?"`, "g");
  return { value, restore: (written) => written.replace(marked, "$1") };
}

/**
 * An integer that a double cannot represent, such as the largest int64. `JSON.stringify` writes it unchanged; as a
 * number it is rounded.
 */
export class LongInteger {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  valueOf(): number {
    return Number(this.digits);
  }

  toJSON(): object {
    return JSON.rawJSON(this.digits);
  }
}

// A fast check whether the text may have a long integer; most have none. The characters that may precede a number are
// those of RFC 8259, section 2.
const mayHoldLongInteger = /(?:^|[:,[\s])-?[1-9]\d{15}/;

/**
 * The long integers of one object that are kept. Few fields of a Pod are int64, and usual objects have no value of theirs
 * beyond 2^53. A kept integer takes 20 times the time and memory of a number, and an object has room for 70,000.
 */
export const longIntegersMax = 100;

/**
 * Like `JSON.parse`, but with a `LongInteger` for each integer beyond 2^53, so that `JSON.stringify` writes the same
 * integers. An object with more than `longIntegersMax` of them has none: all are rounded, as by `JSON.parse`, and
 * `hasRoundedInteger` tells. An object is the whole text, or an item of a list in it, as in a response of the Kubernetes
 * API: one object of a list does not change how the others are read. Time and memory are at most about twice those of
 * `JSON.parse`, whatever the numbers are.
 *
 * @throws SyntaxError when the text is not JSON.
 */
export function parseWithLongIntegers(text: string): unknown {
  const found = mayHoldLongInteger.test(text) ? longIntegersIn(text, longIntegersMax) : [];
  if (found.length === 0) return JSON.parse(text);
  const { value, mark } = parseMarked(text, found);
  const root = [value];
  // Not recursive: the nesting of a text may exceed the call stack.
  const open: object[] = [root];
  for (let object = open.pop(); object !== undefined; object = open.pop()) putIntegersIn(object, mark, open);
  return root[0];
}

/** Whether a parsed value has an integer beyond 2^53 as a number, so that it may differ from the text. */
export function hasRoundedInteger(value: unknown): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "number" && Number.isInteger(next) && !Number.isSafeInteger(next)) return true;
    if (typeof next !== "object" || next === null) continue;
    for (const member of Object.values(next)) open.push(member);
  }
  return false;
}

/** Replaces marked strings by integers, and appends members that are objects to `open`. */
function putIntegersIn(object: object, mark: string, open: object[]): void {
  // Not `Object.entries`, which takes most of the time for a list of a million items.
  if (Array.isArray(object)) {
    for (let at = 0; at < object.length; at += 1) {
      const item: unknown = object[at];
      if (typeof item === "object" && item !== null) open.push(item);
      else if (isMarked(item, mark)) object[at] = new LongInteger(item.slice(mark.length));
    }
    return;
  }
  const members = object as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(members)) {
    const member = members[key];
    if (typeof member === "object" && member !== null) open.push(member);
    else if (isMarked(member, mark)) {
      // Defined, not assigned: a key may be `__proto__`.
      const value = new LongInteger(member.slice(mark.length));
      Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
    }
  }
}

const isMarked = (value: unknown, mark: string): value is string =>
  typeof value === "string" && value.length > mark.length && value.startsWith(mark);

/** The value with a string of the mark and the digits in place of each long integer. */
function parseMarked(text: string, found: readonly Found[]): { readonly value: unknown; readonly mark: string } {
  // It cannot be guessed, so no string of the input has the mark.
  const mark = randomBytes(12).toString("base64url");
  const parts: string[] = [];
  let at = 0;
  for (const { index, digits } of found) {
    parts.push(text.slice(at, index), `"${mark}${digits}"`);
    at = index + digits.length;
  }
  parts.push(text.slice(at));
  return { value: JSON.parse(parts.join("")), mark };
}

interface Found {
  readonly index: number;
  readonly digits: string;
}

const character = { quote: 0x22, minus: 0x2d, zero: 0x30, nine: 0x39, openList: 0x5b, backslash: 0x5c };
// "{" and "[", and "}" and "]", differ in this bit alone; no other character of JSON's syntax does.
const caseBit = 0x20;
const opening = 0x7b;
const closing = 0x7d;

/**
 * The long integers outside of strings, in one pass; none of an object that has more than `objectMax`. One character at a
 * time, without a value for each number or text: a regular expression would make one for every match.
 */
function longIntegersIn(text: string, objectMax: number): readonly Found[] {
  const found: Found[] = [];
  let depth = 0;
  let isInList = false;
  /** Where the integers of the present object begin in `found`; negative once it had too many. */
  let first = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === character.quote) at = closingQuote(text, at);
    else if (isDigit(code) || code === character.minus) {
      const end = numberEnd(text, at);
      if (first >= 0 && isLongInteger(text, at, end)) {
        if (found.length - first < objectMax) found.push({ index: at, digits: text.slice(at, end) });
        else {
          found.length = first;
          first = -1;
        }
      }
      at = end - 1;
    } else if ((code | caseBit) === opening) {
      depth += 1;
      if (depth === 2) isInList = code === character.openList;
      // The items of a list are objects of their own.
      if (depth === 3 && isInList) first = found.length;
    } else if ((code | caseBit) === closing) depth -= 1;
  }
  return found;
}

const isDigit = (code: number): boolean => code >= character.zero && code <= character.nine;

function closingQuote(text: string, open: number): number {
  let at = open + 1;
  for (let code = text.charCodeAt(at); at < text.length && code !== character.quote; code = text.charCodeAt(at)) {
    at += code === character.backslash ? 2 : 1;
  }
  return at;
}

/** The end of a number with its sign, or of what is no JSON. */
function numberEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && isPartOfNumber(text.charCodeAt(at))) at += 1;
  return at;
}

// Digits, and ".", "+", "-", "e" and "E" (RFC 8259, section 6).
const isPartOfNumber = (code: number): boolean =>
  isDigit(code) || code === 0x2e || code === 0x2b || code === character.minus || (code | caseBit) === 0x65;

const integer = /^-?[1-9]\d{15,}$/;
const colonNext = /\s*:/y;

function isLongInteger(text: string, from: number, end: number): boolean {
  // 2^53 has 16 digits.
  if (end - from < 16) return false;
  const digits = text.slice(from, end);
  if (!integer.test(digits) || Number.isSafeInteger(Number(digits))) return false;
  // A number as a key is not JSON. In quotes it would be.
  colonNext.lastIndex = end;
  return !colonNext.test(text);
}
