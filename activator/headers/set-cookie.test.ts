import { describe, expect, it } from "vitest";
import { cookieFor } from "./set-cookie.ts";

const host = "nova.t1.sandbox.example.com:8443";

describe("a cookie of a sandbox", () => {
  it.each([
    ["a=1; Domain=sandbox.example.com; Path=/", "a=1; Path=/"],
    ["a=1;Path=/;domain=.t1.Sandbox.Example.COM", "a=1;Path=/"],
    ["a=1; DOMAIN = sandbox.example.com. ; HttpOnly", "a=1; HttpOnly"],
    ["a=1;\tDomain\t=\tcom", "a=1"],
    ["a=1; Domain=x; Domain=sandbox.example.com", "a=1; Domain=x"],
    ["a=domain; Domain=nova.t1.sandbox.example.com; Secure", "a=domain; Secure"],
    ["a=1; Domain=%73andbox.example.com", "a=1"],
    ["a=1; Domain=\u00efsandbox.example.com", "a=1"],
    ["a=1; Domain=", "a=1"],
    ["a=1; Domain=..sandbox.example.com", "a=1"],
    ["a=1; Domain=sandbox.example.com..", "a=1"],
    ["a; Domain=sandbox.example.com", "a"],
    ["=a; Domain=sandbox.example.com", "=a"],
  ])("loses a domain that names its host, a parent, or nothing plain: %s", (value, kept) => {
    expect(cookieFor(host, value)).toBe(kept);
  });

  it.each([";Domain=sandbox.example.com", " ; domain=com; Path=/", "=;Domain=sandbox.example.com", " = ; Domain="])(
    "without a name and a value is dropped with such a domain: %j",
    (value) => {
      expect(cookieFor(host, value)).toBeUndefined();
    },
  );

  it.each([
    "",
    ";Domain=app.example.org",
    "a=1",
    "a=1; Path=/; Domain",
    "domain=sandbox.example.com; Path=/",
    "a=1; Domain=app.example.org",
    "a=1; Domain=andbox.example.com",
    "a=1; X-Domain=sandbox.example.com",
    "a=1; Path=/domain=sandbox.example.com",
  ])("is otherwise as the sandbox sent it: %s", (value) => {
    expect(cookieFor(host, value)).toBe(value);
  });
});
