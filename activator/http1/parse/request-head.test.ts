import { describe, expect, it } from "vitest";
import { fieldsOf } from "../../../test/http1/wire-reader.ts";
import { refusals, statusOf } from "./refusals.ts";
import { RequestHeadParser } from "./request-head-parser.ts";
import { uncounted } from "./section-reader.ts";

function parsed(wire: string) {
  const parser = new RequestHeadParser();
  const bytes = Buffer.from(`..${wire}`, "latin1");
  expect(parser.push(bytes, 2, bytes.length)).toBe("complete");
  return { parser, head: parser.head, bytes };
}

const get = (target: string, fields = "") => `GET ${target} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

describe("a request head", () => {
  it.each([
    ["/a/../b?c=%2F", "origin", "/a/../b?c=%2F"],
    ["http://a/b?c", "absolute", "/b?c"],
    ["http://a", "absolute", "/"],
    ["http://a?b", "absolute", "/?b"],
  ])("with the target %s is of the %s form and asks for %s", (target, form, path) => {
    const { head } = parsed(get(target));
    expect(head).toMatchObject({ target, form, path, host: "a" });
  });

  it.each([
    ["http://a", "*"],
    ["http://a:80", "*"],
    ["http://a/", "/"],
    ["http://a?b", "/?b"],
    ["*", "*"],
  ])("of OPTIONS with the target %s asks for %s, as a proxy must send it", (target, path) => {
    const { head } = parsed(`OPTIONS ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect([head.path, head.keep().path]).toEqual([path, path]);
  });

  it("keeps the order, the case and the repetitions of its fields", () => {
    const { head } = parsed(get("/", "X-B: 1\r\nx-b:  2 \r\nA:\r\n"));
    expect(fieldsOf(head)).toEqual(["Host", "a", "X-B", "1", "x-b", "2", "A", ""]);
    expect(head.valueOf("x-b")).toBe("1, 2");
    expect(head.valueOf("a")).toBe("");
    expect(head.valueOf("b")).toBeUndefined();
  });

  it("knows the position of each line, so that lines can be forwarded unchanged", () => {
    const { head, bytes } = parsed(get("/", "X-B:  1 \r\nA:\r\n"));
    const lines = [0, 1, 2].map((i) => bytes.toString("latin1", head.lineStart(i), head.lineEnd(i)));
    expect(lines).toEqual(["Host: a\r\n", "X-B:  1 \r\n", "A:\r\n"]);
  });

  it("marks which of the rarer fields it has", () => {
    const { head } = parsed(get("/", "Expect: 100-continue\r\nTE: trailers\r\nConnection: TE\r\n"));
    expect(head.facts).toMatchObject({ hasExpect: true, hasTe: true, hasUpgrade: false, hasTrailer: false });
  });

  it("that is kept survives the bytes it came in", () => {
    const { head, bytes, parser } = parsed(get("http://a/b", "X: 1\r\n"));
    const kept = head.keep();
    bytes.fill(0);
    parser.push(Buffer.from(get("/other")), 0, get("/other").length);
    expect(kept).toMatchObject({ method: "GET", target: "http://a/b", path: "/b", host: "a" });
    expect(fieldsOf(kept)).toEqual(["Host", "a", "X", "1"]);
  });

  it("that came in pieces owns its bytes", () => {
    const parser = new RequestHeadParser();
    const bytes = Buffer.from(get("/"));
    parser.push(bytes, 0, 10, uncounted);
    const rest = Buffer.from(`${get("/").slice(10)}body`);
    expect(parser.push(rest, 0, rest.length)).toBe("complete");
    expect(parser.consumedTo).toBe(rest.length - 4);
    rest.fill(0);
    expect(parser.head.ownsBytes).toBe(true);
    expect(parser.head.host).toBe("a");
  });

  it("asks for an upgrade only with both the field and the option, and not in HTTP/1.0", () => {
    const fields = "Upgrade: x\r\nConnection: a, upgrade\r\n";
    expect(parsed(get("/", fields)).head.asksUpgrade).toBe(true);
    expect(parsed(get("/", "Upgrade: x\r\n")).head.asksUpgrade).toBe(false);
    expect(parsed(`GET / HTTP/1.0\r\n${fields}\r\n`).head.asksUpgrade).toBe(false);
  });
});

describe("a parser of request heads", () => {
  it("is idle until a request begins, also after an empty line", () => {
    const parser = new RequestHeadParser();
    expect(parser.isIdle).toBe(true);
    parser.push(Buffer.from("\r\n"), 0, 2, uncounted);
    expect(parser.isIdle).toBe(true);
    parser.push(Buffer.from("G"), 0, 1, uncounted);
    expect(parser.isIdle).toBe(false);
  });

  it("stays refused", () => {
    const parser = new RequestHeadParser();
    expect(parser.push(Buffer.from("\0"), 0, 1)).toBe("refused");
    const bytes = Buffer.from(get("/"));
    expect(parser.push(bytes, 0, bytes.length)).toBe("refused");
  });
});

it.each([
  ["SectionTooLarge", 431],
  ["TargetTooLong", 414],
  ["VersionUnsupported", 505],
  ["TransferEncodingUnsupported", 501],
  ["ContentLengthTooLarge", 413],
  ["BareLf", 400],
] as const)("%s is answered with %i", (refusal, status) => expect(statusOf(refusal)).toBe(status));

it("every refusal has a valid status for the client", () => {
  expect(new Set(Object.values(refusals))).toEqual(new Set([400, 413, 414, 431, 501, 505]));
});
