import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { parseTypeScript, visitNodes } from "./mutate/node.ts";
import { projectFiles } from "./support/project-files.ts";

const longestFunction = 60;
const parametersMax = 4;

/** Files with longer functions, or with functions that have more parameters. These lists may only shrink. */
const longFunctions: readonly string[] = [];
const wideFunctions: readonly string[] = [
  "activator/http1/frame-body.ts",
  "kube/client/call-lanes.ts",
  "kube/client/http-client.ts",
];
/** Pairs of folders that import each other. This list may only shrink. */
const circles: readonly string[] = [];

const tracked = projectFiles();
const scripts = tracked.filter((file) => file.endsWith(".ts"));
const sources = scripts.filter((file) => !file.endsWith(".test.ts") && !file.startsWith("test/"));

interface Seen {
  readonly at: string;
  readonly lines: number;
  readonly parameters: number;
}

const functionTypes = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** The line of an offset in the text, from 1. */
function linesOf(text: string): (offset: number) => number {
  const lines = new Uint32Array(text.length + 1);
  for (let at = 0, line = 1; at <= text.length; at += 1) {
    lines[at] = line;
    if (text[at] === "\n") line += 1;
  }
  return (offset) => lines[offset] ?? 0;
}

function functionsOf(file: string): readonly Seen[] {
  const text = readFileSync(file, "utf8");
  const lineAt = linesOf(text);
  const found: Seen[] = [];
  visitNodes(parseTypeScript(text), (node) => {
    if (!functionTypes.has(node.type)) return;
    const first = lineAt(node.start);
    const { params } = node as unknown as { readonly params: readonly unknown[] };
    found.push({ at: `${file}:${first}`, lines: lineAt(node.end) - first + 1, parameters: params.length });
  });
  return found;
}

const functions = sources.flatMap(functionsOf);
const fileOf = ({ at }: Seen) => at.replace(/:\d+$/, "");

describe("the sources", () => {
  it("have no function over 60 lines, except in the files that are listed", () => {
    expect(functions.length).toBeGreaterThan(3_000);
    const long = functions.filter(({ lines }) => lines > longestFunction);
    expect([...new Set(long.map(fileOf))].sort()).toEqual(longFunctions);
  });

  it("have no function with more than four parameters, except in the files that are listed", () => {
    const wide = functions.filter(({ parameters }) => parameters > parametersMax);
    expect([...new Set(wide.map(fileOf))].sort()).toEqual(wideFunctions);
  });

  it("are in folders of at most 30 entries", () => {
    const entries = new Map<string, Set<string>>();
    // Decisions are numbered, and files with a leading dot are not counted at the root.
    for (const file of tracked.filter((each) => !/^(\.|docs\/decisions\/)/.test(each))) {
      const parts = file.split("/");
      for (const [at, entry] of parts.entries()) {
        const folder = parts.slice(0, at).join("/");
        entries.set(folder, (entries.get(folder) ?? new Set()).add(entry));
      }
    }
    const full = [...entries].filter(([, inside]) => inside.size > 30).map(([folder]) => folder);
    expect(full).toEqual([]);
  });

  it("export no value that no other file uses", () => {
    const filesWith = new Map<string, number>();
    for (const file of scripts) {
      const words = new Set(readFileSync(file, "utf8").match(/\b[A-Za-z_]\w*/g));
      for (const word of words) filesWith.set(word, (filesWith.get(word) ?? 0) + 1);
    }
    const unused = sources.flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/^export (?:async )?(?:const|function\*?|class|let) (\w+)/gm)]
        .filter(([, name = ""]) => filesWith.get(name) === 1)
        .map(([, name]) => `${file}: ${name}`),
    );
    expect(unused).toEqual([]);
  });

  it("have each label and annotation of the API only in the folder api", () => {
    const elsewhere = sources.filter((file) => /^(lib|kube|controller|activator|local|cluster)\//.test(file));
    const literals = elsewhere.flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/["`][a-z.]*agents\.x-k8s\.io\/(?!v1)[\w-]+/g)].map(
        ([text]) => `${file}: ${text}`,
      ),
    );
    expect(literals).toEqual([]);
  });

  it("have no two folders that import each other's values, except for those that are listed", () => {
    const edges = new Set(
      sources.flatMap((file) =>
        [...readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type)[^;]*?from "(\.[^"]+)";/gm)].map(
          ([, target = ""]) => `${dirname(file)} ${dirname(normalize(join(dirname(file), target)))}`,
        ),
      ),
    );
    const found = [...edges].filter((edge) => {
      const [from = "", to = ""] = edge.split(" ");
      const isNested = from.startsWith(`${to}/`) || to.startsWith(`${from}/`);
      return from < to && !isNested && edges.has(`${to} ${from}`);
    });
    expect(found.sort()).toEqual(circles);
  });
});
