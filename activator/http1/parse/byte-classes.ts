/** The bytes that the grammar of HTTP/1.1 names (RFC 9110 5.6, RFC 9112 2.2). */
export const byte = {
  tab: 0x09,
  lf: 0x0a,
  cr: 0x0d,
  space: 0x20,
  quote: 0x22,
  hash: 0x23,
  asterisk: 0x2a,
  comma: 0x2c,
  dash: 0x2d,
  dot: 0x2e,
  slash: 0x2f,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  semicolon: 0x3b,
  equals: 0x3d,
  question: 0x3f,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
} as const;

/** A table with a 1 for each byte that `belongs`: one load per byte where a chain of comparisons would be slower. */
function classOf(belongs: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (belongs(code) ? 1 : 0));
}

const isIn = (text: string) => (code: number) => text.includes(String.fromCharCode(code));
const isAlphanumeric = isIn("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
const isTokenMark = isIn("!#$%&'*+-.^_`|~");
const isHostMark = isIn("-._");

/** `tchar` of RFC 9110 5.6.2. */
export const tokenBytes = classOf((code) => isAlphanumeric(code) || isTokenMark(code));

/** What a field value or a reason phrase may hold: visible ASCII, space, tab and obs-text (RFC 9110 5.5). */
export const textBytes = classOf((code) => code === byte.tab || (code >= 0x20 && code !== 0x7f));

/**
 * What a request target may hold: everything visible but `#`, at which some servers cut and others do not. Bytes above
 * ASCII are no URI, but plain clients send them for file names, every reader sees the same one byte in them, and they
 * are forwarded as they came.
 */
export const targetBytes = classOf((code) => code > 0x20 && code !== 0x7f && code !== byte.hash);

/**
 * What a host name may hold. `reg-name` of RFC 3986 also has percent signs, commas and other marks; no name that
 * resolves has them, and they are what a second reader would read differently.
 */
export const hostNameBytes = classOf((code) => isAlphanumeric(code) || isHostMark(code));

/** The value of each hexadecimal digit, and 255 for every other byte. */
export const hexValues: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? 255 : value;
});

/** True when the bytes are `lowerCase` in any case; `lowerCase` holds letters, digits and `-` only. */
export function equalsIgnoringCase(bytes: Uint8Array, start: number, end: number, lowerCase: string): boolean {
  const length = end - start;
  if (length !== lowerCase.length) return false;
  for (let i = 0; i < length; i++) {
    const code = bytes[start + i] as number;
    // Only an upper-case letter may differ from the expected one, by exactly this bit.
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (lower !== lowerCase.charCodeAt(i)) return false;
  }
  return true;
}

export function isBlank(code: number | undefined): boolean {
  return code === byte.space || code === byte.tab;
}

export function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= byte.zero && code <= byte.nine;
}
