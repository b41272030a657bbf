import type { Container } from "../../api/core.ts";
import { expand } from "./expansion.ts";
import { findProgram } from "./program.ts";

/**
 * Whether the machine has the program that a container runs, as far as that can be told before it starts: a word that
 * refers to variables of a ConfigMap, or a path relative to the working directory, is found out then.
 */
export function machineHasProgram({ command = [], env = [] }: Container, inheritedPath: string): boolean {
  const literal = (name: string) => env.findLast((variable) => variable.name === name && !variable.valueFrom)?.value;
  const word = expand(command[0] ?? "", literal);
  const isRelative = word.includes("/") && !word.startsWith("/");
  if (isRelative || word.includes("$(")) return true;
  return findProgram(word, literal("PATH") ?? inheritedPath, "/") !== undefined;
}
