import { readFile } from "node:fs/promises";
import type { Authorization } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Authorizer, allowAll, staticToken } from "./authorizer.ts";
import { type ReviewParts, reviewedTokens } from "./reviewed-tokens.ts";
import { scopedTokens, shortestKey } from "./scoped-token.ts";

/** @throws ConfigError for an unusable signing key of scoped tokens; the system's error for an unreadable file. */
export async function createAuthorizer(authorization: Authorization, parts: ReviewParts): Promise<Authorizer> {
  switch (authorization.mode) {
    case "allow-all":
      return allowAll;
    case "static-token":
      return staticToken(authorization.token, parts.clock);
    case "scoped-token": {
      const key = (await readFile(authorization.secretFile, "utf8")).trim();
      if (Buffer.byteLength(key) >= shortestKey) return scopedTokens(key, parts.clock);
      throw new ConfigError(`${authorization.secretFile} is shorter than ${shortestKey} bytes`);
    }
    case "tokenreview":
      return reviewedTokens(authorization.reviews, parts);
  }
}
