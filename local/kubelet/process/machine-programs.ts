import type { Container } from "../../../api/kinds/core.ts";
import { expand } from "../environment/expansion.ts";
import { findProgram } from "./program.ts";

/**
 * Whether the machine has the program of a container, if this can be determined before the start. A word with variables
 * of a ConfigMap, or a path relative to the working directory, is resolved at the start.
 */
export function machineHasProgram({ command = [], env = [] }: Container, inheritedPath: string): boolean {
  const literal = (name: string) => env.findLast((variable) => variable.name === name && !variable.valueFrom)?.value;
  const word = expand(command[0] ?? "", literal);
  const isRelative = word.includes("/") && !word.startsWith("/");
  if (isRelative || word.includes("$(")) return true;
  return findProgram(word, literal("PATH") ?? inheritedPath, "/") !== undefined;
}
