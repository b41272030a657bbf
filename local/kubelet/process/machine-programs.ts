import type { Container } from "../../../api/kinds/core.ts";
import { ExpansionTooLong, expand } from "../environment/expansion.ts";
import { launchBytesMax, wordBytesMax } from "../environment/launch-budget.ts";
import { findProgram } from "./program.ts";

/**
 * Whether the machine has the program of a container, if this can be determined before the start. A word with variables
 * of a ConfigMap, or a path relative to the working directory, is resolved at the start, and one that is too long fails there.
 */
export function machineHasProgram({ command = [], env = [] }: Container, inheritedPath: string): boolean {
  const literals = new Map(env.filter(({ valueFrom }) => !valueFrom).map(({ name, value }) => [name, value]));
  const literal = (name: string) => literals.get(name);
  const word = expandedOrNothing(command[0] ?? "", literal);
  if (word === undefined) return true;
  const isRelative = word.includes("/") && !word.startsWith("/");
  if (isRelative || word.includes("$(")) return true;
  return findProgram(word, literal("PATH") ?? inheritedPath, "/") !== undefined;
}

function expandedOrNothing(word: string, lookUp: (name: string) => string | undefined): string | undefined {
  if (Buffer.byteLength(word) > wordBytesMax) return undefined;
  try {
    return expand(word, lookUp, launchBytesMax);
  } catch (error) {
    if (error instanceof ExpansionTooLong) return undefined;
    throw error;
  }
}
