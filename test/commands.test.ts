import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { projectFiles } from "./support/project-files.ts";

const tracked = projectFiles();
const pages = tracked.filter((file) => file.endsWith(".md") && file !== "CHANGELOG.md");
const read = (file: string) => readFileSync(file, "utf8");
const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(read("package.json"));

interface Shown {
  readonly page: string;
  readonly command: string;
}

/** Commands in blocks, and in the text between backticks. */
function commandsOf(page: string): readonly Shown[] {
  const text = read(page);
  const blocks = [...text.matchAll(/^ *```(?:console|sh)\n([\s\S]*?)^ *```$/gm)].map(([, block = ""]) => block);
  const inBlocks = blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n"));
  const inText = [...text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "").matchAll(/`([^`\n]+)`/g)].map(
    ([, code = ""]) => code,
  );
  return [...inBlocks, ...inText].map((line) => ({ page, command: line.replace(/^[$#] /, "").trim() }));
}

const commands = pages.flatMap(commandsOf);
/** A word in capitals stands for a value. */
const placeholder = /[A-Z]{4}/;
/** Folders of the existing controller, whose tests `npm run test:ecosystem` runs. */
const foreign = /^test\/e2e\b/;
const at = ({ page, command }: Shown) => `${page}: ${command}`;

/** The sources of the program that an npm script runs. */
function sourcesOf(script: string): string {
  const [main = ""] = /[\w/-]+\.ts/.exec(scripts[script] ?? "") ?? [];
  const folder = dirname(main);
  return tracked
    .filter((file) => file.startsWith(`${folder}/`) && file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map(read)
    .join("\n");
}

const npmCommands = commands.flatMap((shown) => {
  const [, named, own, flags = ""] =
    /^npm (?:run (?:--silent )?([\w:-]+)|(start|test|ci))(?: -- (.*))?$/.exec(shown.command) ?? [];
  const script = named ?? own;
  return script && script !== "ci" ? [{ ...shown, script, flags }] : [];
});

describe("the documents", () => {
  it("name only npm scripts that exist", () => {
    expect(npmCommands.length).toBeGreaterThan(40);
    expect(npmCommands.filter(({ script }) => !(script in scripts)).map(at)).toEqual([]);
  });

  it("give npm scripts only flags that their programs know", () => {
    const unknown = npmCommands
      .filter(({ script }) => scripts[script]?.includes(".ts") && !scripts[script]?.includes("vitest"))
      .filter(({ script, flags }) => {
        const sources = sourcesOf(script);
        const names = [...flags.replace(/\s#.*$/, "").matchAll(/--([\w-]+)/g)].map(([, name = ""]) => name);
        return names.some(
          (name) =>
            name !== "help" && !new RegExp(`["\`]?\\b(?:no-)?${name.replace(/^no-/, "")}\\b["\`]?:?`).test(sources),
        );
      });
    expect(unknown.map(at)).toEqual([]);
  });

  it("name only files of this repository that exist", () => {
    const folders = [...new Set(tracked.filter((file) => file.includes("/")).map((file) => file.split("/", 1)[0]))];
    const path = new RegExp(`(?<![\\w./-])(?:${folders.join("|").replaceAll(".", "\\.")})(?:/[\\w.-]+)+`, "g");
    const missing = commands.flatMap((shown) =>
      [...shown.command.matchAll(path)]
        .map(([found]) => found.replace(/[.,]$/, ""))
        .filter(
          (found) =>
            !foreign.test(found) &&
            !placeholder.test(found) &&
            !existsSync(found) &&
            !tracked.some((file) => file.startsWith(found)),
        )
        .map((found) => `${shown.page}: ${found}`),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  it("set only values that the chart has", () => {
    const values = parse(read("charts/rouse/values.yaml"));
    const has = (path: string) => {
      let node: unknown = values;
      for (const key of path.split(".")) {
        if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return false;
        node = (node as Readonly<Record<string, unknown>>)[key];
      }
      return true;
    };
    const set = commands.flatMap(({ page, command }) =>
      [...command.matchAll(/--set(?:-string)? ([\w.]+)=/g)].map(([, path = ""]) => ({ page, path })),
    );
    expect(set.length).toBeGreaterThan(5);
    expect(set.filter(({ path }) => !has(path))).toEqual([]);
  });
});
