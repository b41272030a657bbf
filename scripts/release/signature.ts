import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";

/** @throws when the file has no private key that a release can be signed with. */
export function readSigningKey(path: string): KeyObject {
  const text = readFileSync(path, "utf8");
  if (text.includes("ENCRYPTED")) throw new Error(`the key in ${path} is encrypted: give one without a passphrase`);
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (error) {
    throw new Error(`${path} has no private key in PEM`, { cause: error });
  }
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new Error(`the key in ${path} is not an ECDSA key on the curve P-256`);
  }
  return key;
}

/** ECDSA on P-256 with SHA-256, in DER and base64: what `openssl dgst` and `cosign verify-blob` verify. */
export const signText = (text: string, key: KeyObject): string =>
  `${sign("sha256", Buffer.from(text), key).toString("base64")}\n`;
