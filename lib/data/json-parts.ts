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
  /** Of all strings and names. An alias of YAML and a copy of a patch make much of a small text. */
  readonly characters: number;
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
  return { parts, nesting, characters: text.length };
}

function closingQuote(text: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== character.quote) at += text[at] === character.backslash ? 2 : 1;
  return at;
}

/** As `measureJson` of the text of the value, with the characters of its strings alone. It stops beyond `partsMax`. */
export function measureValue(value: unknown, partsMax: number): JsonSize {
  let [parts, nesting] = [0, 0];
  let characters = charactersOf([value]);
  // Not recursive: the nesting may exceed the call stack. Level by level.
  for (let level = objectsIn([value]); level.length > 0; ) {
    nesting += 1;
    for (const object of level) {
      const names = Array.isArray(object) ? [] : Object.keys(object);
      parts += Math.max(1, Array.isArray(object) ? object.length : names.length);
      characters += charactersOf(names);
    }
    if (parts > partsMax) break;
    const members = level.flatMap(membersOf);
    characters += charactersOf(members);
    level = objectsIn(members);
  }
  return { parts, nesting, characters };
}

const charactersOf = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0);

const objectsIn = (values: readonly unknown[]): readonly object[] =>
  values.filter((value): value is object => typeof value === "object" && value !== null);

const membersOf = (object: object): readonly unknown[] => (Array.isArray(object) ? object : Object.values(object));
