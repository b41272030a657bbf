import { createPublicKey, type KeyObject } from "node:crypto";
import { ConfigError } from "../config/config-error.ts";
import { bytesOf } from "./signature.ts";

/** The public keys of issuers, by key id. */
export type VerificationKeys = ReadonlyMap<string, KeyObject>;

/** The bytes of a public key of Ed25519. */
const keyBytes = 32;

/** @throws ConfigError unless the text is `{"keys":[{"kid":"...","publicKey":"..."}]}` with at least one key, and nothing else. */
export function readVerificationKeys(text: string, file: string): VerificationKeys {
  const wrong = (why: string) => new ConfigError(`${file}: ${why}`);
  const set = membersOf(parsed(text), ["keys"]);
  if (!set || !Array.isArray(set["keys"])) throw wrong('it must be {"keys":[...]} and nothing else');
  const keys = new Map<string, KeyObject>();
  for (const each of set["keys"]) {
    const entry = membersOf(each, ["kid", "publicKey"]);
    const kid = entry?.["kid"];
    const key = entry && publicKeyOf(entry["publicKey"]);
    if (!isKid(kid))
      throw wrong("a key must have a kid of 1 to 128 letters, digits, - and _, a publicKey, and nothing else");
    if (!key) throw wrong(`the publicKey of ${kid} must be the ${keyBytes} bytes of an Ed25519 key in base64url`);
    if (keys.has(kid)) throw wrong(`two keys have the kid ${kid}`);
    keys.set(kid, key);
  }
  if (keys.size === 0) throw wrong("it has no key");
  return keys;
}

export const isKid = (kid: unknown): kid is string => typeof kid === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(kid);

function publicKeyOf(text: unknown): KeyObject | undefined {
  if (typeof text !== "string" || bytesOf(text)?.length !== keyBytes) return undefined;
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: text }, format: "jwk" });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The members of an object that has exactly these; undefined: it is another. */
function membersOf(value: unknown, names: readonly string[]): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const members = Object.entries(value);
  if (members.length !== names.length || members.some(([name]) => !names.includes(name))) return undefined;
  return Object.fromEntries(members);
}
