import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";

/**
 * The file of a command's first word, as a shell finds it: a word with a slash is a path, any other is searched in the
 * directories of `path`. Undefined if the program is not found.
 */
export function findProgram(word: string, path: string, workingDirectory: string): string | undefined {
  if (word === "") return undefined;
  if (word.includes("/")) return executable(isAbsolute(word) ? word : resolve(workingDirectory, word));
  for (const directory of path.split(delimiter)) {
    const found = executable(resolve(workingDirectory, directory, word));
    if (found) return found;
  }
  return undefined;
}

function executable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}
