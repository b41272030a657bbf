import type { ConditionStatus } from "../kinds/meta.ts";

// The limits in the schema of `metav1.Condition` (apimachinery, types.go, and the definitions of our kinds). A server
// that rejects one condition rejects the whole status, so nothing about the object would be reported.
const reasonMax = 1_024;
const messageCharactersMax = 32_768;
/** The largest code point that is one unit of a text. */
const largestOneUnit = 0xffff;
const validReason = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const statuses: readonly string[] = ["True", "False", "Unknown"];

/**
 * A text as the reason of a condition: unchanged if valid. Otherwise invalid characters become underscores: other
 * programs, such as schedulers, may write any text into the conditions of Pods.
 */
export function conditionReason(text: string): string {
  if (text.length <= reasonMax && validReason.test(text)) return text;
  const made = text
    .slice(0, 2 * reasonMax)
    .replaceAll(/[^A-Za-z0-9_,:]+/g, "_")
    .replace(/^[^A-Za-z]+/, "")
    .slice(0, reasonMax)
    .replace(/[,:]+$/, "");
  return made === "" ? "Unknown" : made;
}

/** A text as the message of a condition, truncated to the server's limit in characters (code points). */
export function conditionMessage(text: string): string {
  // A code point has one or two units, so the number of units bounds the number of code points.
  if (text.length <= messageCharactersMax) return text;
  let at = 0;
  let cut = 0;
  for (let characters = 0; characters < messageCharactersMax; characters += 1) {
    cut = at;
    at += (text.codePointAt(at) ?? 0) > largestOneUnit ? 2 : 1;
    if (at >= text.length) return text;
  }
  return `${text.slice(0, cut)}…`;
}

export const conditionStatus = (text: string): ConditionStatus =>
  statuses.includes(text) ? (text as ConditionStatus) : "Unknown";
