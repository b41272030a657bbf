import { readTime } from "../../api/rules/timestamps.ts";
import { type FlagValues, flag } from "../../lib/flags/flags.ts";
import { ConfigError } from "./config-error.ts";

/** How scoped tokens are verified. At least one of the two files is set. */
export interface ScopedTokenSettings {
  readonly mode: "scoped-token";
  /** The key of tokens of version 1. */
  readonly secretFile: string | undefined;
  /** From then on tokens of version 1 are rejected. */
  readonly v1Until: Date | undefined;
  /** The public keys of tokens of version 2. */
  readonly keysFile: string | undefined;
}

export const scopedTokenFlags = {
  "authz-scoped-token-secret-file": flag.string(
    "",
    "file with the key that signs scoped tokens of version 1: at least 32 bytes, not counting blanks at its start and end; read only at the start of the activator; empty: no token of version 1 is valid; --authz-mode=scoped-token needs this flag or --authz-scoped-token-verification-keys-file; with both, --authz-scoped-token-v1-until is required",
  ),
  "authz-scoped-token-verification-keys-file": flag.string(
    "",
    'file with the public keys of scoped tokens of version 2, as {"keys":[{"kid":"...","publicKey":"..."}]}; read only at the start of the activator; empty: no token of version 2 is valid; --authz-mode=scoped-token needs this flag or --authz-scoped-token-secret-file; with both, --authz-scoped-token-v1-until is required',
  ),
  "authz-scoped-token-v1-until": flag.string(
    "",
    "time from which scoped tokens of version 1 are rejected, such as 2027-01-31T00:00:00Z; required if both versions have keys",
  ),
} as const;

/** @throws ConfigError for settings that contradict each other. */
export function scopedTokenSettings(values: FlagValues<typeof scopedTokenFlags>): ScopedTokenSettings {
  const secretFile = values["authz-scoped-token-secret-file"] || undefined;
  const keysFile = values["authz-scoped-token-verification-keys-file"] || undefined;
  const text = values["authz-scoped-token-v1-until"];
  if (!secretFile && !keysFile) {
    throw new ConfigError(
      "--authz-mode=scoped-token needs --authz-scoped-token-secret-file or --authz-scoped-token-verification-keys-file",
    );
  }
  const v1Until = readTime(text);
  if (text !== "" && !v1Until) {
    throw new ConfigError("--authz-scoped-token-v1-until must be a time, such as 2027-01-31T00:00:00Z");
  }
  if (secretFile && keysFile && !v1Until) {
    throw new ConfigError("keys for both versions of scoped tokens need --authz-scoped-token-v1-until");
  }
  return { mode: "scoped-token", secretFile, v1Until, keysFile };
}
