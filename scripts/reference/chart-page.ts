import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMap, isScalar, type Pair, parseDocument } from "yaml";
import { code, page, table } from "./markdown.ts";

const valuesFile = join(import.meta.dirname, "..", "..", "charts", "rouse", "values.yaml");

/** The comment above a key, in one line. */
function commentOf(pair: Pair, inherited: string): string {
  const { key } = pair;
  const above = isScalar(key) ? (key.commentBefore ?? "") : "";
  return `${inherited}\n${above}`
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .join(" ");
}

function rowsOf(node: unknown, prefix: string, first: string): readonly (readonly string[])[] {
  if (!isMap(node)) return [];
  return node.items.flatMap((pair, index) => {
    const name = `${prefix}${isScalar(pair.key) ? pair.key.value : pair.key}`;
    // The parser attaches a comment above the first key of a map to the map.
    const comment = commentOf(pair, index === 0 ? first : "");
    const { value } = pair;
    if (isMap(value) && value.items.length > 0) {
      const below = rowsOf(value, `${name}.`, value.commentBefore ?? "");
      return comment ? [[code(name), "", comment], ...below] : below;
    }
    const shown = JSON.stringify(
      isScalar(value) || value === null ? (value?.value ?? null) : JSON.parse(JSON.stringify(value)),
    );
    return [[code(name), code(shown), comment]];
  });
}

export function chartPage(): string {
  const { contents, commentBefore } = parseDocument(readFileSync(valuesFile, "utf8"));
  return page("Values of the chart", [
    "The values of `charts/rouse`, with their defaults. `charts/rouse/values.schema.json` checks their types at install time.",
    table(["Value", "Default", "Meaning"], rowsOf(contents, "", commentBefore ?? "")),
  ]);
}
