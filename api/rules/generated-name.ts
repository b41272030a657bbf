import { randomBytes } from "node:crypto";

// The alphabet and the length of kube-apiserver's generated names: no vowels, so that no word appears by chance.
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const longestName = 63;

/** A name like those that API servers generate from `metadata.generateName`, at most 63 characters long in total. */
export function generatedName(base: string): string {
  let suffix = "";
  for (const byte of randomBytes(suffixLength)) suffix += alphabet[byte % alphabet.length];
  return base.slice(0, longestName - suffixLength) + suffix;
}
