import { describe, expect, it } from "vitest";
import { isSmallRequest } from "./probe-request.ts";

const headers = (count: number, value = "") => Array.from({ length: count }, (_, at) => ({ name: `h${at}`, value }));

describe("the request of a probe", () => {
  it("is small with up to 32 headers", () => {
    expect(isSmallRequest({})).toBe(true);
    expect(isSmallRequest({ path: "/", httpHeaders: headers(32) })).toBe(true);
    expect(isSmallRequest({ path: "/", httpHeaders: headers(33) })).toBe(false);
  });

  it("is small with up to 4,096 characters of path, header names and values together", () => {
    expect(isSmallRequest({ path: "/".repeat(4_096) })).toBe(true);
    expect(isSmallRequest({ path: "/".repeat(4_097) })).toBe(false);
    expect(isSmallRequest({ path: "/", httpHeaders: headers(1, "x".repeat(4_093)) })).toBe(true);
    expect(isSmallRequest({ path: "/", httpHeaders: headers(1, "x".repeat(4_094)) })).toBe(false);
    expect(isSmallRequest({ path: "/", httpHeaders: [{ name: "h".repeat(4_096), value: "" }] })).toBe(false);
  });
});
