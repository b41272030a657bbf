import { timingSafeEqual } from "node:crypto";

/** Bytes in base64url without padding; undefined if the text is not exactly their form. */
export function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** Whether the text is this signature. The time does not tell how much of it is right. */
export function isSignature(text: string, expected: Buffer): boolean {
  const given = bytesOf(text);
  return given?.length === expected.length && timingSafeEqual(given, expected);
}
