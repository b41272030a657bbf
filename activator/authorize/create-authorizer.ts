import { readFile } from "node:fs/promises";
import type { Authorization } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Authorizer, allowAll, staticToken } from "./authorizer.ts";
import { type ReviewParts, reviewedTokens } from "./reviewed-tokens.ts";
import { scopedTokens, shortestKey } from "./scoped-token.ts";
import { readVerificationKeys } from "./verification-keys.ts";

/** @throws ConfigError for an unusable key of scoped tokens; the system's error for an unreadable file. */
export async function createAuthorizer(authorization: Authorization, parts: ReviewParts): Promise<Authorizer> {
  switch (authorization.mode) {
    case "allow-all":
      return allowAll;
    case "static-token":
      return staticToken(authorization.token, parts.clock);
    case "scoped-token": {
      const { secretFile, v1Until, keysFile } = authorization;
      const secret = secretFile === undefined ? undefined : await readSecret(secretFile);
      const verificationKeys =
        keysFile === undefined ? undefined : readVerificationKeys(await readFile(keysFile, "utf8"), keysFile);
      return scopedTokens({ secret, v1Until, verificationKeys }, parts.clock);
    }
    case "tokenreview":
      return reviewedTokens(authorization.reviews, parts);
  }
}

async function readSecret(file: string): Promise<string> {
  const secret = (await readFile(file, "utf8")).trim();
  if (Buffer.byteLength(secret) >= shortestKey) return secret;
  throw new ConfigError(`${file} is shorter than ${shortestKey} bytes`);
}
