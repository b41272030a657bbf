import { describe, expect, it } from "vitest";
import { bearerOf } from "../../activator/authorize/credential.ts";
import { verifyScopedToken } from "../../activator/authorize/scoped-token.ts";
import { prefersPage } from "../../activator/failures/html-page.ts";
import { readHost } from "../../activator/find/host-name.ts";
import { canonicalIp } from "../../activator/find/ip-address.ts";
import { readPathRoute } from "../../activator/find/path-route.ts";
import { parameterValue, withoutParameter } from "../../activator/find/query.ts";
import { readRoutingHeaders, statedTimeoutMs } from "../../activator/find/routing-headers.ts";
import { cookiesWithout, cookieValue, fieldFor } from "../../activator/headers/base-path.ts";
import { headerFamily } from "../../activator/headers/header-family.ts";
import { RequestHeadParser } from "../../activator/http1/parse/request-head-parser.ts";
import { ResponseHeadParser } from "../../activator/http1/parse/response-head-parser.ts";
import { isOffered, passableProtocols } from "../../activator/http1/parse/upgrade-offer.ts";
import { keepAliveMs } from "../../activator/pod-connections/pool.ts";
import type { HeaderPair } from "../../activator/request.ts";
import { conditionMessage, conditionReason } from "../../api/rules/condition-limits.ts";
import { isDnsLabel, isDnsSubdomain } from "../../api/rules/names.ts";
import { sameQuantity } from "../../api/rules/quantity.ts";
import { isDate, isDateTime, readTime } from "../../api/rules/timestamps.ts";
import { parseFieldSelector, parseLabelSelector } from "../../apiserver/http/selectors.ts";
import { validateMetadata } from "../../controller/claim/create/validate-metadata.ts";
import { parseExactJson } from "../../lib/data/exact-json.ts";
import { parseDurationMs } from "../../lib/flags/flags.ts";
import { originOf } from "../../lib/net/origin.ts";
import { expand } from "../../local/kubelet/environment/expansion.ts";
import { annotationBytes, headBytes, textsOf, tooSlow } from "./texts.ts";

const headers = (name: string, value: string): readonly HeaderPair[] => [[name, value]];
const domains = {
  domain: "sandbox.example",
  clusterDomain: "cluster.local",
  serviceNames: [],
  headerHosts: ["localhost"],
};
const withHeaders = (pairs: readonly HeaderPair[]) => ({
  ...{ method: "GET", protocol: "HTTP/1.1" as const, target: "/", host: "any", peer: "", upgrade: false },
  headers: pairs,
});

function readHead(parser: RequestHeadParser | ResponseHeadParser, startLine: string, field: string): void {
  const bytes = Buffer.from(`${startLine}\r\nHost: a\r\n${field}\r\n\r\n`, "latin1");
  parser.push(bytes, 0, bytes.length);
}

const fieldNames = ["Transfer-Encoding", "Connection", "Content-Length", "Host", "Upgrade", "Expect", "X-Any"];
const limits = { sectionBytesMax: 2 * headBytes, fieldsMax: 256, targetBytesMax: headBytes };

const base = { text: "/s/a/b/1/", rewritesResponses: true, sessionCookie: "door", podAuthority: "10.0.0.1:1" };
const below = { host: "sandboxes.example", base };
/** As many pairs of a query as there is room for, of the first character. */
const inPairs = (text: string) => `${text.slice(0, 1)}&`.repeat(text.length / 2);

/** One text for each first character and length: others would be read as the same pairs. */
function* firstOfPairs(texts: Iterable<string>): Generator<string> {
  const seen = new Set<string>();
  for (const text of texts) {
    const pairs = `${text.slice(0, 1)}${text.length >> 1}`;
    if (!seen.has(pairs)) yield text;
    seen.add(pairs);
  }
}

interface Reader {
  readonly name: string;
  readonly length: number;
  readonly read: (text: string) => unknown;
  /** Which texts it gets. Absent: all. */
  readonly only?: (texts: Iterable<string>) => Iterable<string>;
}

const ofHeads: readonly Reader[] = [
  ...fieldNames.flatMap((name) => [
    {
      name: `${name} of a request`,
      read: (text: string) => readHead(new RequestHeadParser(limits), "GET / HTTP/1.1", `${name}: ${text}`),
    },
    {
      name: `${name} of a response`,
      read: (text: string) => readHead(new ResponseHeadParser(limits), "HTTP/1.1 200 OK", `${name}: ${text}`),
    },
  ]),
  {
    name: "a request target",
    read: (text: string) => readHead(new RequestHeadParser(limits), `GET ${text} HTTP/1.1`, "A: a"),
  },
  { name: "Accept", read: (text: string) => prefersPage(headers("Accept", text)) },
  { name: "Upgrade as it is passed on", read: passableProtocols },
  { name: "Upgrade of an answer", read: (text: string) => isOffered(text, "websocket") },
  { name: "Authorization", read: (text: string) => bearerOf(withHeaders(headers("Authorization", text))) },
  { name: "a scoped token", read: (text: string) => verifyScopedToken(text, "k".repeat(32), new Date(0)) },
  { name: "a label selector", read: parseLabelSelector },
  { name: "a field selector", read: (text: string) => parseFieldSelector(text, () => ({})) },
  { name: "a query", read: (text: string) => parameterValue(`/?${text}`, "token") },
  {
    name: "a query of malformed pairs",
    read: (text: string) => parameterValue(`/?${inPairs(text)}`, "token"),
    only: firstOfPairs,
  },
  {
    name: "a query to cut",
    read: (text: string) => withoutParameter(`/?${inPairs(text)}&token=x`, "token"),
    only: firstOfPairs,
  },
  { name: "a cookie", read: (text: string) => cookieValue("door", text) },
  { name: "cookies to cut", read: (text: string) => cookiesWithout("door", text) },
  { name: "a path with a sandbox", read: (text: string) => readPathRoute(`/s/${text}/${text}/${text}/`, "/s") },
  { name: "an origin", read: (text: string) => originOf(`https://${text}`) },
  { name: "Location below a path", read: (text: string) => fieldFor(below, "location", text) },
  { name: "Set-Cookie below a path", read: (text: string) => fieldFor(below, "set-cookie", text) },
  {
    name: "X-Sandbox-Timeout",
    read: (text: string) => statedTimeoutMs({ headers: headers("X-Sandbox-Timeout", text) }),
  },
  ...["Id", "Namespace", "Port", "Pod-Ip"].map((name) => ({
    name: `X-Sandbox-${name}`,
    read: (text: string) => readRoutingHeaders(headers(`X-Sandbox-${name}`, text), false),
  })),
  { name: "an address", read: canonicalIp },
  { name: "a host name", read: (text: string) => readHost(text, domains) },
  { name: "the name of a header", read: headerFamily },
  { name: "Keep-Alive", read: keepAliveMs },
].map((reader) => ({ ...reader, length: headBytes }));

const ofObjects: readonly Reader[] = [
  { name: "a date", read: isDate },
  { name: "a date with a time", read: isDateTime },
  { name: "a time", read: readTime },
  { name: "a quantity", read: (text: string) => sameQuantity(text, "1") },
  { name: "a label", read: isDnsLabel },
  { name: "a subdomain", read: isDnsSubdomain },
  { name: "the key of a label", read: (text: string) => validateMetadata({ labels: { [text]: "a" } }, ["a"]) },
  { name: "the value of a label", read: (text: string) => validateMetadata({ labels: { "a/b": text } }, ["a"]) },
  { name: "a reason", read: conditionReason },
  { name: "a message", read: conditionMessage },
  { name: "references in a value", read: (text: string) => expand(text, () => undefined, 0) },
  { name: "JSON", read: parseExactJson },
  { name: "a duration", read: parseDurationMs },
].map((reader) => ({ ...reader, length: annotationBytes }));

describe("the longest text of any shape that a client or tenant may send", () => {
  it.each(ofHeads)("is read in linear time as $name", ({ read, length, only = (texts) => texts }) => {
    expect(tooSlow(read, only(textsOf(length)))).toBeUndefined();
  });

  it.each(ofObjects)("is read in linear time as $name", ({ read, length }) => {
    expect(tooSlow(read, textsOf(length))).toBeUndefined();
  });
});
