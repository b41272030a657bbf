import type { Mutant } from "./find-mutants.ts";

/** `uncovered`: no test imports the file. `timedOut` counts as killed, because an endless loop is detected. */
export type Outcome = "killed" | "survived" | "timedOut" | "uncovered";

export interface Attempt {
  readonly outcome: Outcome;
  /** The test file that detected the fault. */
  readonly test?: string;
}

export interface Verdict extends Attempt {
  readonly folder: string;
  readonly mutant: Mutant;
}

const share = (part: number, all: number): string => (all === 0 ? "-" : `${Math.round((100 * part) / all)} %`);

/** A page of Markdown: the number of killed mutants by folder, and each surviving one with its change. */
export function report(verdicts: readonly Verdict[], about: string): string {
  const folders = [...new Set(verdicts.map(({ folder }) => folder))].sort();
  const rows = [...folders, "all"].map((folder) => {
    const own = verdicts.filter((one) => folder === "all" || one.folder === folder);
    const count = (outcome: Outcome) => own.filter((one) => one.outcome === outcome).length;
    const noticed = count("killed") + count("timedOut");
    const cells = [folder, own.length, count("killed"), count("timedOut"), count("survived"), count("uncovered")];
    return `| ${[...cells, share(noticed, own.length)].join(" | ")} |`;
  });
  const missed = verdicts.filter(({ outcome }) => outcome === "survived" || outcome === "uncovered");
  return [
    "# Mutation tests",
    about,
    "",
    "| Folder | Mutants | Killed | Timed out | Survived | No test | Noticed |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows,
    "",
    "## Not noticed",
    "",
    ...(missed.length === 0 ? ["None."] : missed.map(describe)),
    "",
  ].join("\n");
}

function describe({ mutant: { id, file, line, original, by }, outcome }: Verdict): string {
  const lines = (sign: string, text: string) => text.split("\n").map((one) => `${sign} ${one}`);
  const diff = [...lines("-", original), ...lines("+", by === "" ? "(nothing)" : by)];
  return [`${file}:${line} (${id}, ${outcome})`, "", "```diff", ...diff, "```", ""].join("\n");
}
