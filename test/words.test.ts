import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { projectFiles } from "./support/project-files.ts";

/** Former words of this project, and the current ones; see `docs/glossary.md`. */
const former: Readonly<Record<string, string>> = {
  forswear: "fence",
  forsworn: "fenced",
  errand: "connect request",
  stirring: "wake on activity",
  keepUp: "reconcile members",
  BondBook: "PodFences",
  "bond-book": "pod-fences",
  StayBook: "KeptConnections",
  knownLook: "cached resolution",
  mischief: "faults",
  StillStand: "StallWatch",
  WorkshopNode: "InProcessNode",
  DeafProgram: "UnresponsiveProgram",
  openPassage: "openProxyPath",
  Inhabitant: "SoakSandbox",
  "drain port": "drain listener",
};

const files = projectFiles().filter((file) => /\.(ts|md|yaml|txt)$/.test(file));
// The changelog lists the renamed words.
const excused = ["test/words.test.ts", "CHANGELOG.md"];

/** Each file is read once for all words, with the words of its path. */
const textWithNames = new Map(
  files.map((file) => [file, `${file.replaceAll("/", " ")} ${readFileSync(file, "utf8")}`]),
);

it.each(Object.entries(former))("no text says %s any more: it is called %s", (word) => {
  const formerly = new RegExp(`\\b${word}\\b`, "i");
  const found = files.filter((file) => !excused.includes(file) && formerly.test(textWithNames.get(file) ?? ""));
  expect(found).toEqual([]);
});

const ofHibernation =
  /^(node\/|controller\/suspension\/|controller\/sandbox\/|api\/crd\/memory-image|scripts\/reference\/reasons).*\.(ts|go)$/;
const isTest = (file: string): boolean => /(\.test\.ts|_test\.go)$/.test(file);
const literal = /"((?:[^"\\\n]|\\.)*)"|`([^`\n]*)`/g;

it("each text about hibernation says whether it means a memory image or a container image", () => {
  const lines = projectFiles()
    .filter((file) => ofHibernation.test(file) && !isTest(file))
    .flatMap((file) => readFileSync(file, "utf8").split("\n"))
    .filter((line) => !/^\s*(\/\/|\/?\*)/.test(line));
  const texts = lines.flatMap((line) => [...line.matchAll(literal)].map((found) => found[1] ?? found[2] ?? ""));
  const sentences = texts.filter((text) => text.split(" ").length > 2);
  expect(sentences.filter((text) => /memory image/i.test(text)).length).toBeGreaterThan(20);
  expect(sentences.filter((text) => /(?<!memory |container )\bimages?\b(?!\.json)/i.test(text))).toEqual([]);
});

const failure = /"((?:cannot|could not) [^"\n]*)"/g;

it("each log line of the node agent about a failure says what follows: a retry, or none", () => {
  const texts = projectFiles()
    .filter((file) => /^node\/agent\/.*\.ts$/.test(file) && !isTest(file))
    .flatMap((file) =>
      readFileSync(file, "utf8")
        .split(/\n {0,8}log[.[]/)
        .slice(1),
    )
    .flatMap((call) => [...(call.split(/;\n/)[0] ?? "").matchAll(failure)].map((found) => found[1] ?? ""));
  expect(texts.length).toBeGreaterThan(5);
  expect(texts.filter((text) => !/; .*(retrying|no further attempt|nothing watches)/.test(text))).toEqual([]);
});

const titled = /\b(?:it|describe)(?:\.\w+(?:\([^\n]*?\))?)?\(\s*(?:"((?:[^"\\\n]|\\.)*)"|`([^`]*)`)/g;

it("test titles have at most 100 characters and name no chapter of a document that does not exist", () => {
  const titles = files
    .filter((file) => file.endsWith(".ts") && (file.endsWith(".test.ts") || file.startsWith("test/")))
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(titled)].map((found) => found[1] ?? found[2] ?? ""));
  expect(titles.length).toBeGreaterThan(2_000);
  expect(titles.filter((title) => title.length > 100)).toEqual([]);
  expect(
    titles.filter((title) => /^[A-Z]{1,2}\d+(?:, [A-Z]{1,2}\d+)*: |\((?:design|router|sdk) \d/.test(title)),
  ).toEqual([]);
});
