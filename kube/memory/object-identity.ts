import { randomUUID } from "node:crypto";

export const newUid = (): string => randomUUID();

/** A time as `metav1.Time` is written: whole seconds, UTC. */
export function wireTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}
