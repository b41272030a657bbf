import { type Node, nameOf, partOf } from "./node.ts";

/** A part of a text, and its replacement. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

export interface Context {
  readonly text: string;
  readonly parent: Node | undefined;
  /** The field of the parent that contains the node. */
  readonly field: string;
}

type Mutator = (node: Node, context: Context) => readonly Replacement[];

const comparisons: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
};
const arithmetic: Readonly<Record<string, readonly string[]>> = {
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
};
const logic: Readonly<Record<string, readonly string[]>> = { "&&": ["||"], "||": ["&&"], "??": ["&&"] };
const calls: Readonly<Record<string, string>> = { every: "some", some: "every", min: "max", max: "min" };

const whole = (node: Node, by: string): Replacement => ({ start: node.start, end: node.end, by });
const isText = (node: Node | undefined): boolean =>
  node?.type === "TemplateLiteral" || (node?.type === "Literal" && typeof node["value"] === "string");

/** Replaces the operator between the two sides by each of the others. */
function operators(
  node: Node,
  text: string,
  table: Readonly<Record<string, readonly string[]>>,
): readonly Replacement[] {
  const [left, right] = [partOf(node, "left"), partOf(node, "right")];
  const operator = String(node["operator"]);
  if (!left || !right) return [];
  const start = text.indexOf(operator, left.end);
  return (table[operator] ?? []).map((by) => ({ start, end: start + operator.length, by }));
}

function condition(node: Node): readonly Replacement[] {
  const test = partOf(node, "test");
  if (!test) return [];
  // An endless loop would show nothing.
  const isLoop = node.type !== "IfStatement" && node.type !== "ConditionalExpression";
  return [...(isLoop ? [] : [whole(test, "true")]), whole(test, "false")];
}

/** The changes for each kind of node. Nodes of other kinds are not changed. */
export const mutators: Readonly<Record<string, Mutator>> = {
  BinaryExpression(node, { text }) {
    const joinsText = isText(partOf(node, "left")) || isText(partOf(node, "right"));
    return [...operators(node, text, comparisons), ...(joinsText ? [] : operators(node, text, arithmetic))];
  },
  LogicalExpression: (node, { text }) => operators(node, text, logic),
  IfStatement: condition,
  ConditionalExpression: condition,
  WhileStatement: condition,
  ForStatement: condition,
  UnaryExpression(node, { text }) {
    const argument = partOf(node, "argument");
    return node["operator"] === "!" && argument ? [whole(node, text.slice(argument.start, argument.end))] : [];
  },
  Literal(node, { parent }) {
    if (typeof node["value"] === "boolean") return [whole(node, String(!node["value"]))];
    const isCompared = parent?.type === "SwitchCase" || Object.hasOwn(comparisons, String(parent?.["operator"]));
    return isCompared && isText(node) && node["value"] !== "" ? [whole(node, '""')] : [];
  },
  BlockStatement(node, { parent, field }) {
    const isBody = field === "body" && parent?.type.includes("Function");
    const isBranch = parent?.type === "IfStatement";
    const isFilled = Array.isArray(node["body"]) && node["body"].length > 0;
    return isFilled && (isBody || isBranch) ? [whole(node, "{}")] : [];
  },
  ExpressionStatement(node) {
    const expression = partOf(node, "expression");
    const call = expression?.type === "AwaitExpression" ? partOf(expression, "argument") : expression;
    return call?.type === "CallExpression" || call?.type === "ChainExpression" ? [whole(node, ";")] : [];
  },
  CallExpression(node) {
    const property = partOf(partOf(node, "callee"), "property");
    const by = calls[nameOf(property)];
    return property && by !== undefined ? [whole(property, by)] : [];
  },
  Property(node, { text, parent }) {
    if (parent?.type !== "ObjectExpression" || partOf(node, "value")?.type.includes("Function")) return [];
    const comma = /^\s*,/.exec(text.slice(node.end))?.[0].length ?? 0;
    return [{ start: node.start, end: node.end + comma, by: "" }];
  },
  MemberExpression(node, { text }) {
    const object = partOf(node, "object");
    if (node["optional"] !== true || node["computed"] === true || !object) return [];
    const start = text.indexOf("?.", object.end);
    return [{ start, end: start + 2, by: "." }];
  },
};
