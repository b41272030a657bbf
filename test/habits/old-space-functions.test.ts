import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { childrenOf, type Node, parseTypeScript, partOf } from "../mutate/node.ts";
import { projectFiles } from "../support/project-files.ts";

/** Runs for each request or connection. */
const sources = projectFiles().filter((file) => /^(activator|lib)\/.*\.ts$/.test(file) && !file.endsWith(".test.ts"));

/** These run once in a process. */
const atStart: readonly string[] = [
  "activator/observe/access-log.ts",
  "activator/socket/wire-socket.ts: listening.onconnection",
  "lib/log/log.ts",
];

const isFunctionLiteral = (node: Node | undefined) =>
  node?.type === "FunctionExpression" || node?.type === "ArrowFunctionExpression";

/** The properties to which a function literal is assigned. */
function assignedFunctions(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    const left = node.type === "AssignmentExpression" ? partOf(node, "left") : undefined;
    if (left?.type === "MemberExpression" && isFunctionLiteral(partOf(node, "right"))) {
      found.push(text.slice(left.start, left.end));
    }
    for (const [, child] of childrenOf(node)) visit(child);
  };
  visit(parseTypeScript(text));
  return found;
}

describe("a function literal that is assigned to a property", () => {
  it("is told from one that is bound, declared, or part of an object", () => {
    expect(assignedFunctions("this.#read = () => 1; stream.push = function () {};")).toEqual([
      "this.#read",
      "stream.push",
    ]);
    expect(assignedFunctions("class A { f = () => 1; }")).toEqual([]);
    expect(assignedFunctions("const f = () => 1; this.f = f; this.g = f.bind(this); x = { f: () => 1 };")).toEqual([]);
  });

  // V8 puts it into the old space, where it keeps all that it refers to until the next full collection (decision 86).
  it("is not made for each request", () => {
    const found = sources.flatMap((file) => {
      const text = readFileSync(file, "utf8");
      if (!/\.\S+ (\?\?)?= (async )?(function\b|\(|\w+ =>)/.test(text)) return [];
      return assignedFunctions(text).map((property) => `${file}: ${property}`);
    });
    expect(found.filter((each) => !atStart.some((known) => each.startsWith(known)))).toEqual([]);
  });
});
