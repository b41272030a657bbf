import { parseAst } from "vitest/node";

/** A node of an ESTree with the fields that are used here. `start` and `end` are offsets in the text. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** @throws SyntaxError if the text does not parse. */
export function parseTypeScript(text: string): Node {
  const root: unknown = parseAst(text, { lang: "ts" });
  if (!isNode(root)) throw new SyntaxError("the parser returned no tree");
  return root;
}

/** A child node of this name; undefined if there is none. */
export function partOf(node: Node | undefined, field: string): Node | undefined {
  const part = node?.[field];
  return isNode(part) ? part : undefined;
}

/** The child nodes, each with the name of its field. */
export function* childrenOf(node: Node): Generator<readonly [field: string, child: Node]> {
  for (const [field, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield [field, child];
  }
}

/** Calls `visit` with the node and with each below it, parents first. Much faster than `childrenOf` for whole files. */
export function visitNodes(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const field in node) {
    const value = node[field];
    if (Array.isArray(value)) {
      for (const child of value) if (isNode(child)) visitNodes(child, visit);
    } else if (isNode(value)) visitNodes(value, visit);
  }
}

/** `a.b.c` for a chain of names; other parts are omitted. */
export function nameOf(node: Node | undefined): string {
  if (node?.type === "Identifier" || node?.type === "PrivateIdentifier") return String(node["name"]);
  if (node?.type === "ThisExpression") return "this";
  if (node?.type !== "MemberExpression") return "";
  return `${nameOf(partOf(node, "object"))}.${nameOf(partOf(node, "property"))}`;
}
