import { isJsonObject } from "../json-values.ts";
import { badRequest } from "../status-errors.ts";

/** Where the next page of a list begins. */
export interface Continuation {
  /** The version of the whole list. */
  readonly version: number;
  /** The page has the keys from this one on. */
  readonly start: string;
}

/** A token in the form of kube-apiserver's. Clients must not read it. */
export function continueToken({ version, start }: Continuation): string {
  return Buffer.from(JSON.stringify({ v: tokenVersion, rv: version, start })).toString("base64url");
}

/** @throws StatusError 400 for what is no token. */
export function readContinueToken(token: string): Continuation {
  const value = parsed(Buffer.from(token, "base64url").toString("utf8"));
  const { v, rv, start } = isJsonObject(value) ? value : {};
  if (
    v !== tokenVersion ||
    typeof rv !== "number" ||
    !Number.isSafeInteger(rv) ||
    rv <= 0 ||
    typeof start !== "string"
  ) {
    throw badRequest("continue key is not valid: it is no token of this server");
  }
  return { version: rv, start };
}

const tokenVersion = "meta.k8s.io/v1";

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
