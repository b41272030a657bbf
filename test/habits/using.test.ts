import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { childrenOf, type Node, parseTypeScript, partOf } from "../mutate/node.ts";
import { projectFiles } from "../support/project-files.ts";

const sources = projectFiles().filter((file) => file.endsWith(".ts") && !/\.test\.ts$|^(test|bench)\//.test(file));

/** Calls that return no promise. */
const synchronous = /^return (now\(\)|body\.(?:view|join)\(\)|toTerminated\(|JSON\.parse\()/;

const isFunction = ({ type }: Node) => /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type);
const isUsing = (node: Node) => node.type === "VariableDeclaration" && /using$/.test(String(node["kind"]));

/** The calls whose result an async function returns without await, in a block with a resource in use. */
function returnsTooEarly(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: Node, within: { readonly isAsync: boolean; readonly inUse: boolean }): void => {
    const returned = node.type === "ReturnStatement" ? partOf(node, "argument") : undefined;
    const statement = text.slice(node.start, node.end);
    if (within.isAsync && within.inUse && returned?.type === "CallExpression" && !synchronous.test(statement)) {
      found.push(statement);
    }
    const inner = isFunction(node) ? { isAsync: node["async"] === true, inUse: false } : within;
    let inUse = inner.inUse;
    for (const [, child] of childrenOf(node)) {
      visit(child, { ...inner, inUse });
      if (isUsing(child)) inUse = true;
    }
  };
  visit(parseTypeScript(text), { isAsync: false, inUse: false });
  return found;
}

describe("a resource in use", () => {
  it("is found to be released too early if a promise is returned without await", () => {
    const early = "async function f() { using limit = start(); if (limit) { return send(); } return await send(); }";
    expect(returnsTooEarly(early)).toEqual(["return send();"]);
    expect(returnsTooEarly("async function f() { { using limit = start(); } return send(); }")).toEqual([]);
    expect(returnsTooEarly("async function f() { using limit = start(); list.map(() => { return 1; }); }")).toEqual([]);
  });

  it("is released after the promise that its function returns has settled", () => {
    const early = sources.flatMap((file) => {
      const text = readFileSync(file, "utf8");
      // Without the word there is no such resource, and no need for a syntax tree.
      if (!/\busing\b/.test(text)) return [];
      return returnsTooEarly(text).map((statement) => `${file}: ${statement}`);
    });
    expect(early).toEqual([]);
  });
});
