/** The values of a query parameter, in order. Names may be escaped, as programs read them. */
export function parameterValues(target: string, name: string): readonly string[] {
  return parametersOf(target).flatMap((pair) => (nameOf(pair) === name ? [textOf(pair)] : []));
}

/** The target without this parameter of its query. All other text stays as it is. */
export function withoutParameter(target: string, name: string): string {
  const pairs = parametersOf(target);
  const kept = pairs.filter((pair) => nameOf(pair) !== name);
  if (kept.length === pairs.length) return target;
  const path = target.slice(0, target.indexOf("?"));
  return kept.length === 0 ? path : `${path}?${kept.join("&")}`;
}

function parametersOf(target: string): readonly string[] {
  const start = target.indexOf("?");
  return start < 0 ? [] : target.slice(start + 1).split("&");
}

const nameOf = (pair: string) => decoded(pair.split("=", 1)[0] ?? "");

function textOf(pair: string): string {
  const start = pair.indexOf("=");
  return start < 0 ? "" : decoded(pair.slice(start + 1));
}

/** As programs read forms: a plus sign is a space. A malformed escape stays as it is. */
function decoded(text: string): string {
  const spaced = text.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}
