/** Why a connection was closed: too many frames that cost more than they bring, or frames that the protocol forbids. */
export const offences = ["flood", "protocol"] as const;
export type Offence = (typeof offences)[number];

/** Undefined: the client is gone, or has itself ended the connection for an error. */
export function offenceOf(error: Error): Offence | undefined {
  const code = "code" in error ? String(error.code) : "";
  if (!code.startsWith("ERR_HTTP2_") || code === "ERR_HTTP2_SESSION_ERROR") return undefined;
  return /FLOOD|TOO_MANY|CALM/i.test(`${code} ${error.message}`) ? "flood" : "protocol";
}
