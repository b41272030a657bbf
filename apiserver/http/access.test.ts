import { describe, expect, it } from "vitest";
import { refusalOfAccess } from "./access.ts";

const rules = { port: 6443, tls: true, token: "s3cret" };
const ours = { host: "127.0.0.1:6443", authorization: "Bearer s3cret" };

describe("access to the API server", () => {
  it.each(["127.0.0.1:6443", "127.4.5.6:6443", "localhost:6443", "LOCALHOST:6443", "[::1]:6443"])(
    "is open under the host %s",
    (host) => {
      expect(refusalOfAccess({ ...ours, host }, rules)).toBeUndefined();
    },
  );

  it.each([
    undefined,
    "",
    "localhost",
    "localhost:6444",
    "evil.example:6443",
    "localhost.evil.example:6443",
    "127.0.0.1.evil.example:6443",
    "evil@localhost:6443",
    "10.0.0.1:6443",
  ])("is refused under the host %s, with any token", (host) => {
    expect(refusalOfAccess({ ...ours, host }, rules)?.code).toBe(403);
  });

  it.each(["http://127.0.0.1:6443", "https://localhost:6443"])("is open to a page of its own origin, %s", (origin) => {
    expect(refusalOfAccess({ ...ours, origin }, rules)).toBeUndefined();
  });

  it.each(["null", "http://evil.example", "http://hello.default.sandbox.localhost:8080", "http://localhost:8080"])(
    "is refused to a page of the origin %s",
    (origin) => {
      expect(refusalOfAccess({ ...ours, origin }, rules)?.code).toBe(403);
    },
  );

  it.each([
    [443, true],
    [80, false],
  ])("is open under a host without a port if the server has port %i, with TLS: %s", (port, tls) => {
    const headers = { ...ours, host: "127.0.0.1" };
    expect(refusalOfAccess(headers, { ...rules, port, tls })).toBeUndefined();
    expect(refusalOfAccess({ ...headers, host: "evil.example" }, { ...rules, port, tls })?.code).toBe(403);
    expect(refusalOfAccess(headers, { ...rules, port, tls: !tls })?.code).toBe(403);
    const origin = tls ? "https://localhost" : "http://localhost";
    expect(refusalOfAccess({ ...headers, origin }, { ...rules, port, tls })).toBeUndefined();
    expect(refusalOfAccess({ ...headers, origin: "null" }, { ...rules, port, tls })?.code).toBe(403);
  });

  it.each([undefined, "", "Bearer", "Bearer wrong", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "s3cret"])(
    "is refused with the credentials %j",
    (authorization) => {
      expect(refusalOfAccess({ ...ours, authorization }, rules)?.code).toBe(401);
    },
  );

  it("accepts all clients without a configured token", () => {
    expect(refusalOfAccess({ host: ours.host }, { ...rules, token: undefined })).toBeUndefined();
  });
});
