import { expect, it } from "vitest";
import { fieldsOf } from "../../../test/http1/wire-reader.ts";
import { ResponseHeadParser } from "./response-head-parser.ts";

function parsed(wire: string) {
  const parser = new ResponseHeadParser();
  const bytes = Buffer.from(wire, "latin1");
  expect(parser.push(bytes, 0, bytes.length)).toBe("complete");
  return { head: parser.head, parser, bytes };
}

it("a response head has its phrase and its fields as they were sent", () => {
  const { head } = parsed("HTTP/1.1 404 Not  here\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 7\r\n\r\n");
  expect(head).toMatchObject({
    status: 404,
    reason: "Not  here",
    framing: "length",
    contentLength: 7,
    isInterim: false,
  });
  expect(fieldsOf(head)).toEqual(["Set-Cookie", "a", "Set-Cookie", "b", "Content-Length", "7"]);
});

it("a response head that is kept survives the bytes it came in", () => {
  const { head, bytes } = parsed("HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n");
  const kept = head.keep();
  bytes.fill(0);
  expect(kept).toMatchObject({ status: 503, reason: "Busy", framing: "none", keepsAlive: true });
  expect(kept.valueOf("retry-after")).toBe("5");
});

it.each([
  [100, true],
  [103, true],
  [204, false],
])("%i is interim: %s", (status, isInterim) => {
  expect(parsed(`HTTP/1.1 ${status} x\r\n\r\n`).head.isInterim).toBe(isInterim);
});

it("consecutive responses can answer different requests", () => {
  const parser = new ResponseHeadParser();
  const bytes = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  parser.expect({ isHead: true, askedUpgrade: false });
  parser.push(bytes, 0, bytes.length);
  expect(parser.head.framing).toBe("none");
  parser.expect({ isHead: false, askedUpgrade: false });
  parser.push(bytes, 0, bytes.length);
  expect(parser.head.framing).toBe("length");
});
