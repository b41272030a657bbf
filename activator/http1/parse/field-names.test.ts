import { describe, expect, it } from "vitest";
import { FieldNames } from "./field-names.ts";
import { RequestHeadParser } from "./request-head-parser.ts";

const names = new FieldNames(["x-real-ip", "x-fixed-id", "http2-settings"], ["x-forwarded"]);

function found(field: string): string | undefined {
  const parser = new RequestHeadParser();
  const bytes = Buffer.from(`GET / HTTP/1.0\r\n${field}: 1\r\n\r\n`);
  expect(parser.push(bytes, 0, bytes.length)).toBe("complete");
  return names.find(parser.head, 0);
}

describe("a name among the fields of a head", () => {
  it.each(["X-Real-IP", "x_real.ip", "X~REAL-IP", "HTTP2-Settings", "x.Fixed.ID"])("is found as %s", (field) => {
    expect(found(field)).toBe(field.toLowerCase());
  });

  it.each(["x-forwarded", "X.Forwarded-", "X_Forwarded_For", "x-forwarded-prefix.of"])(
    "is found by how it begins: %s",
    (field) => {
      expect(found(field)).toBe(field.toLowerCase());
    },
  );

  it.each(["x0real-ip", "xrealip", "x-real-ix", "http3-settings", "x-forwardedfor", "x-forwarde", "-real-ip", "x"])(
    "is not taken for another: %s",
    (field) => {
      expect(found(field)).toBeUndefined();
    },
  );
});
