import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { bearerOf } from "../activator/authorize/credential.ts";
import { verifyScopedToken } from "../activator/authorize/scoped-token.ts";
import { prefersPage } from "../activator/failures/html-page.ts";
import { readHost } from "../activator/find/host-name.ts";
import { canonicalIp } from "../activator/find/ip-address.ts";
import { readPathRoute } from "../activator/find/path-route.ts";
import { parameterValue, withoutParameter } from "../activator/find/query.ts";
import { readRoutingHeaders, statedTimeoutMs } from "../activator/find/routing-headers.ts";
import { cookiesWithout, cookieValue, fieldFor } from "../activator/headers/base-path.ts";
import { headerFamily } from "../activator/headers/header-family.ts";
import { RequestHeadParser } from "../activator/http1/parse/request-head-parser.ts";
import { ResponseHeadParser } from "../activator/http1/parse/response-head-parser.ts";
import { isOffered, passableProtocols } from "../activator/http1/parse/upgrade-offer.ts";
import { keepAliveMs } from "../activator/pod-connections/pool.ts";
import type { HeaderPair } from "../activator/request.ts";
import { conditionMessage, conditionReason } from "../api/rules/condition-limits.ts";
import { isDnsLabel, isDnsSubdomain } from "../api/rules/names.ts";
import { sameQuantity } from "../api/rules/quantity.ts";
import { isDate, isDateTime, readTime } from "../api/rules/timestamps.ts";
import { validateMetadata } from "../controller/claim/create/validate-metadata.ts";
import { parseExactJson } from "../lib/data/exact-json.ts";
import { parseDurationMs } from "../lib/flags/flags.ts";
import { originOf } from "../lib/net/origin.ts";
import { parseTypeScript, visitNodes } from "./mutate/node.ts";
import { projectFiles } from "./support/project-files.ts";

/** The default limit of a head (`--max-header-bytes`), and the limit of all annotations of an object, in bytes. */
const headBytes = 65_536;
const annotationBytes = 262_144;

/**
 * The CPU time limit for one text, in microseconds. A reader in linear time takes a few
 * milliseconds; a reader in quadratic time takes seconds.
 */
const longestMicros = 100_000;

const units = [
  ...[" ", "\t", "1", ",", "a", "-", ".", ":", "=", ";", '"', "\\", "/", "_", "[", "{", "%", "\xa0", "T"],
  ...["a,", " ,", ", ", "a ", "1.", "1s", "1e", "--", ": ", '\\"', "a.", "a;", "q=1,", "1234567890123456 ", "chunked,"],
];
const beginnings = ["", "a", "1", "v1."];
const ends = ["", "!"];

/** Short texts first, so that a failure is reported within a second. */
function* textsOf(longest: number, moreUnits: readonly string[] = []): Generator<string> {
  for (const length of [longest >> 4, longest]) {
    for (const unit of [...units, ...moreUnits]) {
      for (const beginning of beginnings) {
        for (const end of ends) {
          const middle = length - beginning.length - end.length;
          yield beginning + unit.repeat(Math.max(0, Math.floor(middle / unit.length))) + end;
        }
      }
    }
  }
}

/** The beginning of the first text that exceeds the time limit of a reader three times. */
function tooSlow(read: (text: string) => unknown, texts: Iterable<string>): string | undefined {
  for (const text of texts) {
    // A reader that is too slow is so each time. A collection of garbage or the compiler may delay it once.
    const isSlow = () => microsOf(read, text) > longestMicros;
    if (isSlow() && isSlow() && isSlow()) return `${JSON.stringify(text.slice(0, 40))}...`;
  }
  return undefined;
}

function microsOf(read: (text: string) => unknown, text: string): number {
  const before = process.threadCpuUsage();
  try {
    read(text);
  } catch {
    // Most texts are rejected.
  }
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

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
  { name: "JSON", read: parseExactJson },
  { name: "a duration", read: parseDurationMs },
].map((reader) => ({ ...reader, length: annotationBytes }));

/** Expressions in quadratic time, with the longest text that their callers pass. */
const bounded: Readonly<Record<string, number>> = {
  "api/rules/claimed-sandbox-name.ts: /-+$/": 63,
  "api/rules/condition-limits.ts: /[,:]+$/": 1_024,
  "controller/template/make-network-policy.ts: /[-.]+$/": 253,
};

const programs = projectFiles().filter(
  (file) => /^(activator|api|controller|lib)\/.*\.ts$/.test(file) && !file.endsWith(".test.ts"),
);

interface Found {
  readonly at: string;
  readonly expression: RegExp;
}

function expressionsIn(file: string): Found[] {
  const text = readFileSync(file, "utf8");
  const found: Found[] = [];
  visitNodes(parseTypeScript(text), (node) => {
    const { regex } = node as { readonly regex?: { readonly pattern: string; readonly flags: string } };
    if (!regex) return;
    const expression = new RegExp(regex.pattern, regex.flags);
    found.push({ at: `${file}: ${expression}`, expression });
  });
  return found;
}

describe("the longest text of any shape that a client or tenant may send", () => {
  it.each(ofHeads)("is read in linear time as $name", ({ read, length, only = (texts) => texts }) => {
    expect(tooSlow(read, only(textsOf(length)))).toBeUndefined();
  });

  it.each(ofObjects)("is read in linear time as $name", ({ read, length }) => {
    expect(tooSlow(read, textsOf(length))).toBeUndefined();
  });

  it.each(programs.flatMap(expressionsIn))(
    "is matched in linear time by each expression: $at",
    ({ at, expression }) => {
      const length = bounded[at] ?? headBytes;
      const words = expression.source.match(/[A-Za-z][A-Za-z ]+/g) ?? [];
      const texts = textsOf(length, [...words, ...words.map((word) => `${word} `), ...words.map((word) => `,${word}`)]);
      expect(tooSlow((text) => text.replace(expression, ""), texts)).toBeUndefined();
    },
  );
});
