import { corpus } from "./corpus.ts";
import type { Random } from "./random.ts";
import type { Side } from "./wire-reader.ts";

const methods = ["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "BREW", "CONNECT", "M-SEARCH"];
const targets = ["/", "/a?b=c", "*", "http://a/b", "http://a:80", "a:80", "/%2e%2F//", "/{|}", "/\xe4", "http://b/"];
const versions = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "http/1.1"];
const statuses = ["200 OK", "204 No Content", "304 Not Modified", "100 Continue", "404", "500 ", "299 \xe4", "99 x"];
const names = ["X-A", "accept", "Cookie", "TE", "Upgrade", "Expect", "Trailer", "Keep-Alive", "Content_Length", "Via"];
const values = ["", "a", "trailers", "websocket", "100-continue", "timeout=5", 'a, b;c="d"', "\xff\x80", " \t x\t "];
const connections = ["close", "keep-alive", "Upgrade", "close, keep-alive", "x,,TE", "keep-alive , upgrade"];
const lengths = ["+5", "5,5", "05", " 5 ", "0x5", "99999999999999999999", "-0", "5\t", ""];
const codings = ["CHUNKED", "chunked, chunked", "gzip, chunked", "identity", "chunked\t", "\x0bchunked", "xchunked"];
const bodies = ["", "a", "hello", "0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\0\xff".repeat(20)];
const extensions = ["", "", "", "", ";a", ";a=b;c", ';a="b;\\""', " ", ";", ";a=", "; a"];
const sizes = (n: number) => [n.toString(16), n.toString(16), n.toString(16).toUpperCase(), `00${n.toString(16)}`];
const lineEnds = ["\n", "\r", "\r\r\n", "\n\r", "\r\n ", "\r\n\r\n"];
const snippets = [
  ...[
    "\r",
    "\n",
    "\0",
    " ",
    "\t",
    ":",
    ";",
    ",",
    "0",
    "5",
    "\x7f",
    "\x80",
    "\x0b",
    "\r\n",
    "\r\n\r\n",
    "\n\n",
    "\r\n ",
  ],
  ...["Host: a\r\n", "Host: b\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n"],
  ...[
    "chunked",
    "close",
    "HTTP/1.1",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "ffffffffffffffff",
  ],
];

/** A stream of one to three messages by the grammar. Most are valid, some have a known trick. */
export function generate(random: Random, side: Side): string {
  return Array.from({ length: 1 + random.below(3) }, () => message(random, side)).join("");
}

function message(random: Random, side: Side): string {
  const fields = Array.from(
    { length: random.below(4) },
    () => `${random.pick(names)}:${random.pick([" ", ""])}${random.pick(values)}`,
  );
  if (side === "request" && !random.once(12)) fields.push(random.once(12) ? "Host: a:80" : "Host: a");
  if (random.once(4)) fields.push(`Connection: ${random.pick(connections)}`);
  const { framing, body } = framed(random);
  fields.push(...framing);
  const rotated = fields.slice(random.below(fields.length + 1));
  const lines = [startLine(random, side), ...rotated, ...fields.slice(0, fields.length - rotated.length), ""];
  return `${random.once(20) ? "\r\n" : ""}${lines.map((line) => line + lineEnd(random)).join("")}${body}`;
}

function startLine(random: Random, side: Side): string {
  if (side === "response") return `${random.pick(versions)} ${random.pick(statuses)}`;
  const usual = !random.once(4);
  return `${usual ? random.pick(["GET", "POST"]) : random.pick(methods)} ${usual ? "/" : random.pick(targets)} ${random.pick(versions)}`;
}

function framed(random: Random): { readonly framing: readonly string[]; readonly body: string } {
  const body = random.pick(bodies);
  switch (random.below(6)) {
    case 0:
      return { framing: [], body: "" };
    case 1:
    case 2:
      return { framing: [`Content-Length: ${random.once(8) ? random.pick(lengths) : body.length}`], body };
    case 3:
    case 4:
      return {
        framing: [`Transfer-Encoding: ${random.once(8) ? random.pick(codings) : "chunked"}`],
        body: chunks(random),
      };
    default:
      return { framing: [`Content-Length: ${body.length}`, "Transfer-Encoding: chunked"], body };
  }
}

function chunks(random: Random): string {
  const parts = Array.from({ length: random.below(3) }, () => random.pick(bodies)).filter((body) => body !== "");
  const line = (length: number) => random.pick(sizes(length)) + random.pick(extensions) + lineEnd(random);
  const trailers = random.once(4) ? `${random.pick(names)}: ${random.pick(values)}${lineEnd(random)}` : "";
  return `${parts.map((part) => line(part.length) + part + lineEnd(random)).join("")}${line(0)}${trailers}${lineEnd(random)}`;
}

function lineEnd(random: Random): string {
  return random.once(120) ? random.pick(lineEnds) : "\r\n";
}

const seeds = (side: Side) =>
  corpus
    .filter((part) => part.side === side)
    .flatMap((part) => part.cases.map((one) => one.wire).filter((wire) => wire.length < 1_000));
const corpusWires: Readonly<Record<Side, readonly string[]>> = {
  request: seeds("request"),
  response: seeds("response"),
};

/** A case of the corpus or a generated stream with one to three small changes. */
export function mutate(random: Random, side: Side): string {
  let wire = random.once(2) ? generate(random, side) : random.pick(corpusWires[side]);
  for (let left = 1 + random.below(3); left > 0; left--) wire = accident(random, side, wire);
  return wire;
}

function accident(random: Random, side: Side, wire: string): string {
  const at = random.below(wire.length + 1);
  const length = 1 + random.below(4);
  switch (random.below(5)) {
    case 0:
      return wire.slice(0, at) + random.pick(snippets) + wire.slice(at);
    case 1:
      return wire.slice(0, at) + wire.slice(at + length);
    case 2:
      return wire.slice(0, at) + String.fromCharCode(random.below(256)) + wire.slice(at + 1);
    case 3:
      return wire.slice(0, at + length) + wire.slice(at);
    default:
      return wire.slice(0, at) + random.pick(corpusWires[side]).slice(random.below(20));
  }
}
