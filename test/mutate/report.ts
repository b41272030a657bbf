import type { Mutant } from "./find-mutants.ts";

/**
 * `uncovered`: no test imports the file. `timedOut` counts as killed, because an endless loop is detected. `equivalent`: it
 * changes no behaviour, as a person judged.
 */
export type Outcome = "killed" | "survived" | "timedOut" | "uncovered" | "equivalent";

export interface Attempt {
  readonly outcome: Outcome;
  /** The test file that detected the fault. */
  readonly test?: string;
}

export interface Verdict extends Attempt {
  readonly folder: string;
  readonly mutant: Mutant;
  /** For a fault that the nearest tests did not detect: another test detects it, or one that was written since. */
  readonly by?: "another" | "new";
  /** For an equivalent one: the reason. */
  readonly why?: string;
}

const isKilled = ({ outcome }: Verdict): boolean => outcome === "killed" || outcome === "timedOut";
const isMissed = ({ outcome }: Verdict): boolean => outcome === "survived" || outcome === "uncovered";
const share = (part: number, all: number): string => (all === 0 ? "-" : `${Math.floor((100 * part) / all)} %`);

const rule = `A mutant is one deliberate fault in a copy of the code. It is killed if a test fails with it and passes without it, or does
not end. "Near" are the tests nearest to the file, "other" those further away that were tried with mutants that the near tests
missed, "new" those that were written because of them. Equivalent mutants change no behaviour. No test that was tried detects a
survivor. The last column is the share of killed mutants in all that change behaviour: killed / (mutants - equivalent), rounded
down.`;

/** A page of Markdown: the number of killed mutants by folder, then the others, each with its change. */
export function report(verdicts: readonly Verdict[], about: string): string {
  const folders = [...new Set(verdicts.map(({ folder }) => folder))].sort();
  const equivalent = verdicts.filter(({ outcome }) => outcome === "equivalent");
  return [
    "# Mutation tests",
    "",
    about,
    "",
    rule,
    "",
    "| Folder | Mutants | Near tests | Other tests | New tests | Equivalent | Survived | Killed |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...folders.map((folder) =>
      row(
        folder,
        verdicts.filter((one) => one.folder === folder),
      ),
    ),
    row("all", verdicts),
    "",
    ...section("Survived", verdicts.filter(isMissed)),
    ...section("Equivalent", equivalent),
  ].join("\n");
}

function row(name: string, verdicts: readonly Verdict[]): string {
  const killed = verdicts.filter(isKilled);
  const killedBy = (by: Verdict["by"]) => killed.filter((one) => one.by === by).length;
  const equivalent = verdicts.filter(({ outcome }) => outcome === "equivalent").length;
  const cells = [
    ...[name, verdicts.length, killedBy(undefined), killedBy("another"), killedBy("new"), equivalent],
    ...[verdicts.filter(isMissed).length, share(killed.length, verdicts.length - equivalent)],
  ];
  return `| ${cells.join(" | ")} |`;
}

const section = (title: string, verdicts: readonly Verdict[]): readonly string[] => [
  `## ${title}`,
  "",
  ...(verdicts.length === 0 ? ["None."] : verdicts.map(describe)),
  "",
];

function describe({ mutant: { id, file, line, original, by }, why }: Verdict): string {
  const code = (text: string) => `\`\` ${text.split("\n", 1)[0]} \`\``;
  const change = by === "" ? `${code(original)} removed` : `${code(original)} becomes ${code(by)}`;
  return `- ${file}:${line} (${id}): ${change}${why === undefined ? "" : `. ${why}`}`;
}
