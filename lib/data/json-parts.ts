const character = { quote: 0x22, comma: 0x2c, backslash: 0x5c };
// "{" and "[" differ in this bit alone, and so do "}" and "]"; no other character of JSON's syntax does.
const caseBit = 0x20;
const opening = 0x7b;
const closing = 0x7d;

/**
 * The opening brackets and the commas of a JSON text that are outside of strings: at least the number of its values, without a
 * parse and without memory for them. Of a text that is no JSON it counts the part that a parser would read at least.
 */
export function countParts(text: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text[at] ?? 0;
    if (code === character.quote) at = closingQuote(text, at);
    else if (code === character.comma || (code | caseBit) === opening) count += 1;
  }
  return count;
}

/** How deep lists and objects of a JSON text are nested in each other, by its brackets outside of strings. */
export function nestingOf(text: Uint8Array): number {
  let open = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text[at] ?? 0;
    if (code === character.quote) at = closingQuote(text, at);
    else if ((code | caseBit) === opening) open += 1;
    else if ((code | caseBit) === closing) open -= 1;
    if (open > deepest) deepest = open;
  }
  return deepest;
}

function closingQuote(text: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== character.quote) at += text[at] === character.backslash ? 2 : 1;
  return at;
}
