const character = { quote: 0x22, comma: 0x2c, backslash: 0x5c };
// "{" and "[" differ in this bit alone, and so do "}" and "]"; no other character of JSON's syntax does.
const caseBit = 0x20;
const opening = 0x7b;
const closing = 0x7d;

export interface JsonSize {
  /** The opening brackets and the commas outside of strings: at least the number of values. */
  readonly parts: number;
  /** How deep lists and objects are nested in each other. */
  readonly nesting: number;
}

/**
 * The size of a JSON text, without a parse and without memory for its values. Of a text that is no JSON it counts the part that a
 * parser would read at least.
 */
export function measureJson(text: Uint8Array): JsonSize {
  let parts = 0;
  let open = 0;
  let nesting = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text[at] ?? 0;
    if (code === character.quote) at = closingQuote(text, at);
    else if (code === character.comma) parts += 1;
    else if ((code | caseBit) === opening) {
      parts += 1;
      open += 1;
      if (open > nesting) nesting = open;
    } else if ((code | caseBit) === closing) open -= 1;
  }
  return { parts, nesting };
}

function closingQuote(text: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== character.quote) at += text[at] === character.backslash ? 2 : 1;
  return at;
}
