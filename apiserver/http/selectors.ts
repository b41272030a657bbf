import type { KubeObject } from "../../api/kinds/meta.ts";
import { ownField } from "../../lib/data/own-fields.ts";
import { badRequest } from "../status-errors.ts";

export type Predicate = (object: KubeObject) => boolean;

type Labels = Readonly<Record<string, string>>;
type LabelTest = (labels: Labels) => boolean;

const key = "(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?";
const value = "(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?";

const setRequirement = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`);
const comparison = new RegExp(`^(${key})\\s*(>|<)\\s*(-?\\d+)$`);
const existence = new RegExp(`^(!?)\\s*(${key})$`);

/**
 * The whole grammar of label selectors: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`.
 *
 * @throws StatusError 400 when it is malformed.
 */
export function parseLabelSelector(text: string): Predicate {
  const tests = splitOutsideParentheses(text).map((part) => parseRequirement(part, text));
  return ({ metadata: { labels = {} } }) => tests.every((test) => test(labels));
}

function parseRequirement(part: string, whole: string): LabelTest {
  const [, setKey, setOperator, members] = setRequirement.exec(part) ?? [];
  if (setKey !== undefined) {
    const values = new Set((members ?? "").split(",").map((member) => member.trim()));
    // An absent label is in no set, so `notin` matches.
    return setOperator === "in"
      ? (labels) => Object.hasOwn(labels, setKey) && values.has(labels[setKey] ?? "")
      : (labels) => !(Object.hasOwn(labels, setKey) && values.has(labels[setKey] ?? ""));
  }
  const [, name, operator, wanted] = equality.exec(part) ?? [];
  if (name !== undefined) {
    return operator === "!="
      ? (labels) => ownField(labels, name) !== wanted
      : (labels) => ownField(labels, name) === wanted;
  }
  const [, numberKey, sign, bound] = comparison.exec(part) ?? [];
  if (numberKey !== undefined) {
    const limit = Number(bound);
    const passes = (number: number) => (sign === ">" ? number > limit : number < limit);
    return (labels) => {
      const text = ownField(labels, numberKey) ?? "";
      return /^-?\d+$/.test(text) && passes(Number(text));
    };
  }
  const [, not, presentKey] = existence.exec(part) ?? [];
  if (presentKey === undefined) {
    throw badRequest(`unable to parse requirement: couldn't parse the selector string "${whole}"`);
  }
  return not === "!" ? (labels) => !Object.hasOwn(labels, presentKey) : (labels) => Object.hasOwn(labels, presentKey);
}

function splitOutsideParentheses(text: string): readonly string[] {
  if (text.trim() === "") return [];
  const parts: string[] = [];
  let end = text.length;
  let isInside = false;
  // From the end: a comma is inside if the next parenthesis closes.
  for (let at = text.length - 1; at >= 0; at -= 1) {
    if (text[at] === "(" || text[at] === ")") isInside = text[at] === ")";
    if (text[at] !== "," || isInside) continue;
    parts.push(text.slice(at + 1, end).trim());
    end = at;
  }
  return [...parts, text.slice(0, end).trim()].reverse();
}

/**
 * Field selectors: `path=value`, `path==value`, `path!=value`, joined by commas; `\`, `,` and `=` in a value are escaped
 * by a backslash. `fieldsOf` gives every object the same fields.
 *
 * @throws StatusError 400 for a syntax error, and for a field that objects of the kind do not have.
 */
export function parseFieldSelector(
  text: string,
  fieldsOf: (object: KubeObject) => Readonly<Record<string, string>>,
): Predicate {
  const terms = (text.match(/(?:\\.|[^,\\])+/g) ?? []).map((term) => parseFieldTerm(term, text));
  if (terms.length === 0) return () => true;
  const allFields = (object: KubeObject): Readonly<Record<string, string>> => ({
    "metadata.name": object.metadata.name ?? "",
    "metadata.namespace": object.metadata.namespace ?? "",
    ...fieldsOf(object),
  });
  const known = allFields({ metadata: {} });
  const unknown = terms.find(({ path }) => !Object.hasOwn(known, path));
  if (unknown) throw badRequest(`field label not supported: ${unknown.path}`);
  return (object) => {
    const fields = allFields(object);
    return terms.every(({ path, equal, wanted }) => (fields[path] === wanted) === equal);
  };
}

function parseFieldTerm(term: string, whole: string) {
  const [, path, operator, escaped] = /^([^=!]+?)(==|!=|=)(.*)$/s.exec(term) ?? [];
  if (path === undefined) {
    throw badRequest(`invalid selector: '${whole}'; can't understand '${term}'`);
  }
  return { path, equal: operator !== "!=", wanted: (escaped ?? "").replace(/\\(.)/gs, "$1") };
}
