import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";

/** Each directory costs a look at the disk, again and again while a Pod waits for its program. */
const directoriesMax = 256;
const pathCharactersMax = 128 * 1024;

/**
 * The file of a command's first word, as a shell finds it: a word with a slash is a path, any other is searched in the
 * directories of `path`: the first 256 of them, within its first 128 KiB. Undefined if the program is not found.
 */
export function findProgram(word: string, path: string, workingDirectory: string): string | undefined {
  if (word === "") return undefined;
  if (word.includes("/")) return executable(isAbsolute(word) ? word : resolve(workingDirectory, word));
  const directories = path.slice(0, pathCharactersMax).split(delimiter, directoriesMax);
  for (const directory of new Set(directories)) {
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
