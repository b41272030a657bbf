/** A command of a page, and its output by the page. */
export interface DocumentedCommand {
  readonly page: string;
  readonly command: string;
  readonly output: readonly string[];
}

/** The commands of the `console` blocks of a page: lines that begin with `$ `, continued by a backslash, with the output below. */
export function commandsOf(page: string, text: string): readonly DocumentedCommand[] {
  return [...text.matchAll(/^```console\n([\s\S]*?)^```$/gm)].flatMap(([, block = ""]) =>
    block
      .replaceAll(/\\\n\s*/g, "")
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = "", ...output] = part.trimEnd().split("\n");
        return { page, command: command.replace(/ {2,}# .*$/, ""), output };
      }),
  );
}

/** The lines of an output without variable parts: ages, times, generated names, and the width of columns. */
export function loosened(text: string): readonly string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
        .replaceAll(/\b(?:\d+[dhms])+\b/g, "AGE")
        .replaceAll(/\b(greeters)-[a-z0-9]{5}\b/g, "$1-NAME")
        .replaceAll(/\s+/g, " ")
        .trim(),
    );
}
