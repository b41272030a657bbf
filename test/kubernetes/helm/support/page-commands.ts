import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commandsOf } from "../../../support/documented-commands.ts";

const root = join(import.meta.dirname, "..", "..", "..", "..");

/** The command lines of a part of a page, from its title to the next title. */
export function commandsUnder(page: string, title: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8");
  const start = text.indexOf(`\n${title}\n`);
  if (start < 0) throw new Error(`${page} has no "${title}"`);
  const after = text.slice(start + title.length + 2);
  const end = after.search(/^#{2,3} /m);
  return commandsOf(page, end < 0 ? after : after.slice(0, end)).map(({ command }) => command);
}
