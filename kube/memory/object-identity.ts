import { randomBytes, randomUUID } from "node:crypto";

// The alphabet and the length of kube-apiserver's generated names: no vowels, so that no word appears by chance.
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const longestName = 63;

/** A name from `metadata.generateName`, cut so that the whole is at most 63 characters long. */
export function generatedName(base: string): string {
  let suffix = "";
  for (const byte of randomBytes(suffixLength)) suffix += alphabet[byte % alphabet.length];
  return base.slice(0, longestName - suffixLength) + suffix;
}

export const newUid = (): string => randomUUID();

/** A time as `metav1.Time` is written: whole seconds, UTC. */
export function wireTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}
