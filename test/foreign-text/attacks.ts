import { textsOf } from "./texts.ts";

/** Characters of each kind that expressions tell apart. */
const candidates = [..."a1A -_./:;,=!%$()[]{}<>\"'\\\n\t~é"];

/** Parts of an expression that match one character, each as it is written. What says how often and in which group is left out. */
const atom = /\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|p\{[^}]*\}|[^bB])|\[(?:\\.|[^\\\]])*\]|[^\\[\](){}?*+|^$]/g;
const notAtoms = /\(\?(?:[:=!]|<[=!]|<[A-Za-z]+>)|\{\d+(?:,\d*)?\}/g;

/** A character for each part of an expression that matches one: what some text that it matches consists of. */
function charactersOf(expression: RegExp): string[] {
  const flags = expression.flags.replaceAll(/[gy]/g, "");
  const atoms = expression.source.replaceAll(notAtoms, "").match(atom) ?? [];
  return atoms.flatMap((each) => {
    const one = new RegExp(`^${each}$`, flags);
    const found = candidates.find((candidate) => one.test(candidate)) ?? each;
    return one.test(found) ? [found] : [];
  });
}

/**
 * Long texts that an expression may match in very many ways: each short part of what it matches, repeated, after what comes before that
 * part. Also texts of many other shapes.
 */
export function* attacksOn(expression: RegExp, longest: number): Generator<string> {
  const characters = charactersOf(expression);
  const units = new Map<string, string>();
  for (let from = 0; from < characters.length; from += 1) {
    for (let to = from + 1; to <= Math.min(from + 3, characters.length); to += 1) {
      const unit = characters.slice(from, to).join("");
      if (!units.has(unit)) units.set(unit, characters.slice(0, from).join(""));
    }
  }
  const words = expression.source.match(/[A-Za-z][A-Za-z ]+/g) ?? [];
  for (const word of words) for (const unit of [word, `${word} `, `,${word}`]) units.set(unit, "");
  for (const [unit, before] of units) {
    yield* textsOf(longest, { units: [unit], beginnings: [...new Set(["", before])] });
  }
  yield* textsOf(longest);
}
