import { randomUUID } from "node:crypto";

export const newUid = (): string => randomUUID();

/** A time in the format of `metav1.Time`: whole seconds, UTC. */
export function wireTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}
