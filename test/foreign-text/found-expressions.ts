import { readFileSync } from "node:fs";
import { type Node, parseTypeScript, partOf, visitNodes } from "../mutate/node.ts";

export interface Found {
  readonly at: string;
  readonly expression: RegExp;
}

/** The expressions of a file: literals, patterns of schemas, and those that are put together of constants. */
export function expressionsIn(file: string): Found[] {
  const root = parseTypeScript(readFileSync(file, "utf8"));
  const constants = new Map<string, Node | undefined>();
  visitNodes(root, (node) => {
    const name = partOf(node, "id")?.["name"];
    if (node.type === "VariableDeclarator" && typeof name === "string") constants.set(name, partOf(node, "init"));
  });
  const found: Found[] = [];
  visitNodes(root, (node) => {
    const expression = literalOf(node) ?? madeOf(node, constants);
    if (expression) found.push({ at: `${file}: ${expression}`, expression });
  });
  return found;
}

function literalOf(node: Node): RegExp | undefined {
  const { regex } = node as { readonly regex?: { readonly pattern: string; readonly flags: string } };
  return regex && new RegExp(regex.pattern, regex.flags);
}

function madeOf(node: Node, constants: ReadonlyMap<string, Node | undefined>): RegExp | undefined {
  const isMade = node.type === "NewExpression" && partOf(node, "callee")?.["name"] === "RegExp";
  const isPattern = node.type === "Property" && partOf(node, "key")?.["name"] === "pattern";
  const [first] = isMade ? (node["arguments"] as readonly Node[]) : isPattern ? [partOf(node, "value")] : [];
  const text = first && textOf(first, constants);
  return text === undefined ? undefined : new RegExp(text);
}

/** The text of a constant expression; undefined for any other. */
function textOf(node: Node | undefined, constants: ReadonlyMap<string, Node | undefined>): string | undefined {
  if (node?.type === "Literal") return typeof node["value"] === "string" ? node["value"] : undefined;
  if (node?.type === "Identifier") return textOf(constants.get(String(node["name"])), constants);
  if (node?.type !== "TemplateLiteral") return undefined;
  const [quasis, inserted] = [node["quasis"], node["expressions"]] as [readonly Node[], readonly Node[]];
  const parts = quasis.flatMap((quasi, at) => [
    (quasi["value"] as { readonly cooked: string }).cooked,
    at < inserted.length ? textOf(inserted[at], constants) : "",
  ]);
  return parts.includes(undefined) ? undefined : parts.join("");
}
