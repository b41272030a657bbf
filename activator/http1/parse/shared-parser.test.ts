import { describe, expect, it } from "vitest";
import { RequestHeadParser } from "./request-head-parser.ts";
import { ResponseHeadParser } from "./response-head-parser.ts";
import { uncounted } from "./section-reader.ts";

type Parser = RequestHeadParser | ResponseHeadParser;

/** All that can be read of a head, besides the bytes that it lies in. */
function contentOf({ head }: Parser): unknown {
  const { bytes: _bytes, marks: _marks, ownsBytes: _owns, facts, ...content } = head;
  return { ...content, facts: { ...facts } };
}

function read(parser: Parser, text: string): string {
  const bytes = Buffer.from(text, "latin1");
  return parser.push(bytes, 0, bytes.length, uncounted);
}

const heads = [
  "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
  "POST http://a/b HTTP/1.0\r\nHost: a\r\nContent-Length: 3\r\nConnection: close, upgrade\r\nUpgrade: b\r\nTE: trailers\r\n\r\n",
  "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nTrailer: b\r\nKeep-Alive: a\r\n\r\n",
];
const malformed = ["\u0016\u0003\u0001", " ", "GET\r\n", "GET a", "GET / HTTP/1.2\r\n", "G"];
const responses = [
  "HTTP/1.0 404 Not here\r\nContent-Length: 3\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
];
const malformedResponses = ["\u0016", "HTTP/1.1 2", "HTTP/1.1 20x", "HTTP/1.1 200\u0001"];

describe("a parser that has read another head", () => {
  it.each(heads.flatMap((head) => malformed.map((next) => [next, head])))(
    "has the state of a new one after %j, when it has read %j",
    (next, head) => {
      const [used, unused] = [new RequestHeadParser(), new RequestHeadParser()];
      expect(read(used, head)).toBe("complete");
      expect(read(used, next)).toBe(read(unused, next));
      expect(contentOf(used)).toEqual(contentOf(unused));
    },
  );

  it.each(responses.flatMap((head) => malformedResponses.map((next) => [next, head])))(
    "has the state of a new one after %j of a response, when it has read %j",
    (next, head) => {
      const [used, unused] = [new ResponseHeadParser(), new ResponseHeadParser()];
      expect(read(used, head)).toBe("complete");
      expect(read(used, next)).toBe(read(unused, next));
      expect(contentOf(used)).toEqual(contentOf(unused));
    },
  );
});
