/**
 * Protocols that themselves transport HTTP requests: other versions of HTTP, and TLS with HTTP in it (RFC 2817). After a switch
 * to one of them the client's later requests would bypass the activator: with credentials that it strips, unauthorized,
 * uncounted. An intermediary forwards what it supports (RFC 9110, 7.8), and HTTP/2 has removed the offer (RFC 9113, 3.1).
 */
const carriesRequests: ReadonlySet<string> = new Set(["h2", "h2c", "h3", "http", "https", "tls"]);

/** The maximum characters of a protocol list that is read. Clients offer one or two protocols. */
const upgradeCharactersMax = 1_024;

const listOf = (value: string): string[] =>
  value
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "");

/**
 * The protocols of an `Upgrade` field that may be forwarded, in the sender's spelling; empty without any. An offer that is too
 * long is ignored, as any offer may be (RFC 9110, 7.8).
 */
export function passableProtocols(value: string): string {
  if (value.length > upgradeCharactersMax) return "";
  const names = listOf(value);
  return names.filter((protocol) => !carriesRequests.has(nameOf(protocol))).join(", ");
}

/** Whether a server switched to offered protocols alone (RFC 9110, 7.8). Its response must name them. */
export function isOffered(switchedTo: string | undefined, offer: string): boolean {
  if (switchedTo === undefined || switchedTo.length > 2 * upgradeCharactersMax) return false; // a forwarded offer has a blank after each comma
  const offered = new Set(listOf(offer.toLowerCase()));
  const chosen = listOf(switchedTo.toLowerCase());
  return chosen.length > 0 && chosen.every((protocol) => offered.has(protocol));
}

const nameOf = (protocol: string): string => (protocol.split("/", 1)[0] ?? "").trim().toLowerCase();
