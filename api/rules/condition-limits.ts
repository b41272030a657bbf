import type { ConditionStatus } from "../kinds/meta.ts";

// The limits in the schema of `metav1.Condition` (apimachinery, types.go, and the definitions of our kinds). A server
// that rejects one condition rejects the whole status, so nothing about the object would be reported.
const reasonMax = 1_024;
const messageCharactersMax = 32_768;
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
  const characters = Array.from(text.slice(0, 2 * messageCharactersMax));
  if (text.length <= 2 * messageCharactersMax && characters.length <= messageCharactersMax) return text;
  return `${characters.slice(0, messageCharactersMax - 1).join("")}…`;
}

export const conditionStatus = (text: string): ConditionStatus =>
  statuses.includes(text) ? (text as ConditionStatus) : "Unknown";
