import { createHash } from "node:crypto";
import { type Context, mutators, type Replacement } from "./mutators.ts";
import { childrenOf, type Node, nameOf, parseTypeScript, partOf } from "./node.ts";

/** One deliberate fault in one file. */
export interface Mutant extends Replacement {
  /** The same for the same fault in the same text, so that a run can be resumed. */
  readonly id: string;
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly original: string;
}

/** All possible faults of a file, in the order of its text. */
export function findMutants(file: string, text: string): readonly Mutant[] {
  const found: Mutant[] = [];
  const visit = (node: Node, context: Context): void => {
    if (isOutOfScope(node)) return;
    for (const change of mutators[node.type]?.(node, context) ?? []) found.push(describe(file, text, change));
    for (const [field, child] of childrenOf(node)) visit(child, { text, parent: node, field });
  };
  visit(parseTypeScript(text), { text, parent: undefined, field: "" });
  return found;
}

export const applyTo = (text: string, { start, end, by }: Replacement): string =>
  text.slice(0, start) + by + text.slice(end);

/** Types, imports, log messages and error texts are not changed. */
function isOutOfScope(node: Node): boolean {
  const expression = node.type === "ExpressionStatement" ? partOf(node, "expression") : undefined;
  if (expression) return isOutOfScope(expression);
  if (node.type.startsWith("Import") && node.type !== "ImportExpression") return true;
  if (node.type.startsWith("TS") && !/^TS(As|Satisfies|NonNull)Expression$/.test(node.type)) return true;
  const callee = nameOf(partOf(node, "callee"));
  if (node.type === "CallExpression") return /(^|[.#])log\.\w+$/.test(callee);
  return node.type === "NewExpression" && callee.endsWith("Error");
}

function describe(file: string, text: string, change: Replacement): Mutant {
  const line = text.slice(0, change.start).split("\n").length;
  const original = text.slice(change.start, change.end);
  const hash = createHash("sha256").update([file, text, change.start, change.end, change.by].join("\0"));
  return { ...change, id: hash.digest("hex").slice(0, 16), file, line, original };
}
