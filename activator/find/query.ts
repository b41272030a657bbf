/**
 * The first value of a query parameter. Nobody is authorized yet, and a query has room for thousands of pairs: so a name is compared
 * where it stands, and only the value is unescaped. `name`: characters that need no escape.
 */
export function parameterValue(target: string, name: string): string | undefined {
  for (const { start, end } of pairsOf(target)) {
    const after = nameEnd(target, start, end, name);
    if (after !== undefined) return unescaped(target.slice(Math.min(after + 1, end), end));
  }
  return undefined;
}

/** The target without this parameter of its query. All other text stays as it is. */
export function withoutParameter(target: string, name: string): string {
  const kept: string[] = [];
  let isFound = false;
  for (const { start, end } of pairsOf(target)) {
    if (nameEnd(target, start, end, name) === undefined) kept.push(target.slice(start, end));
    else isFound = true;
  }
  if (!isFound) return target;
  const path = target.slice(0, target.indexOf("?"));
  return kept.length === 0 ? path : `${path}?${kept.join("&")}`;
}

interface Pair {
  readonly start: number;
  readonly end: number;
}

function* pairsOf(target: string): Generator<Pair> {
  for (let start = target.indexOf("?") + 1; start > 0; ) {
    const next = target.indexOf("&", start);
    yield { start, end: next < 0 ? target.length : next };
    start = next + 1;
  }
}

/** Where the name of a pair ends, if it is this name, as programs read it: each character may be escaped. */
function nameEnd(target: string, start: number, end: number, name: string): number | undefined {
  let at = start;
  for (const character of name) {
    if (target[at] === character) at += 1;
    else if (target[at] === "%" && Number.parseInt(target.slice(at + 1, at + 3), 16) === character.charCodeAt(0))
      at += 3;
    else return undefined;
  }
  return at === end || (at < end && target[at] === "=") ? at : undefined;
}

/** As programs read forms: a plus sign is a space. A text with a malformed escape stays as it is. */
function unescaped(text: string): string {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}
