import { createRequire } from "node:module";
import { BodyFramer } from "../../activator/http1/parse/body-framer.ts";
import { RequestHeadParser } from "../../activator/http1/parse/request-head-parser.ts";
import { ResponseHeadParser } from "../../activator/http1/parse/response-head-parser.ts";
import { uncounted } from "../../activator/http1/parse/section-reader.ts";

// node bench/http1/parse-heads.ts: heads per second on one core, rounds interleaved, the median of each.
const rounds = 9;
const headsPerRound = 200_000;

const small = Buffer.from(
  "GET /index.html HTTP/1.1\r\nHost: nova.lab.example.com\r\nUser-Agent: k6/1.0\r\nAccept: */*\r\n\r\n",
);
const browser = Buffer.from(
  `${[
    "GET /app/main.js?v=20260101 HTTP/1.1",
    "Host: nova.lab.example.com",
    "Connection: keep-alive",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept-Language: en-GB,en;q=0.9",
    `Cookie: session=${"0123456789abcdef".repeat(8)}`,
    "Sec-Fetch-Dest: document",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-Site: none",
    "Upgrade-Insecure-Requests: 1",
  ].join("\r\n")}\r\n\r\n`,
);
const answer = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
);
const chunked = Buffer.from(`${"400\r\n".concat("x".repeat(1024), "\r\n").repeat(16)}0\r\n\r\n`);

interface NodeParser {
  [callback: number]: () => number;
  initialize(type: number, resource: object): void;
  execute(bytes: Buffer): unknown;
}
interface NodeParserType {
  new (): NodeParser;
  readonly REQUEST: number;
  readonly kOnHeadersComplete: number;
}
const { HTTPParser }: { readonly HTTPParser: NodeParserType } = createRequire(import.meta.url)("_http_common");

function llhttp(bytes: Buffer): () => void {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {});
  parser[HTTPParser.kOnHeadersComplete] = () => 0;
  return () => void parser.execute(bytes);
}

function ours(parser: RequestHeadParser | ResponseHeadParser, bytes: Buffer): () => void {
  return () => {
    if (parser.push(bytes, 0, bytes.length) !== "complete") throw new Error("a head was not taken");
  };
}

function framing(bytes: Buffer): () => void {
  const framer = new BodyFramer(uncounted);
  return () => {
    framer.begin("chunked", 0);
    framer.at = 0;
    while (framer.next(bytes, framer.at, bytes.length) !== "complete")
      if (framer.refusal) throw new Error(framer.refusal);
  };
}

const runs = new Map<string, () => void>([
  [`request of ${small.length} bytes`, ours(new RequestHeadParser(), small)],
  [`request of ${small.length} bytes, llhttp in Node`, llhttp(small)],
  [`request of ${browser.length} bytes`, ours(new RequestHeadParser(), browser)],
  [`request of ${browser.length} bytes, llhttp in Node`, llhttp(browser)],
  [`response of ${answer.length} bytes`, ours(new ResponseHeadParser(), answer)],
  ["body of 16 chunks of 1 KiB", framing(chunked)],
]);

const results = new Map([...runs.keys()].map((name): [string, number[]] => [name, []]));
for (let round = 0; round <= rounds; round++) {
  for (const [name, run] of runs) {
    const startedMs = performance.now();
    for (let i = 0; i < headsPerRound; i++) run();
    const perSecond = (headsPerRound / (performance.now() - startedMs)) * 1_000;
    // The first round only warms the compiler.
    if (round > 0) results.get(name)?.push(perSecond);
  }
}
for (const [name, perSecond] of results) {
  const median = perSecond.sort((a, b) => a - b)[Math.floor(perSecond.length / 2)] ?? 0;
  process.stdout.write(`${name.padEnd(44)} ${(median / 1_000_000).toFixed(2)} million a second\n`);
}
