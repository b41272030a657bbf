import { describe, expect, it } from "vitest";
import { keepsRequestHeader, keepsResponseHeader } from "./forward-headers.ts";

const rules = { byHost: true, consumesAuthorization: false, upgrade: false, chunked: false, traced: false };

describe("a header of a client", () => {
  it.each([
    ...["x_forwarded_for", "x-forwarded_for", "x_forwarded-for", "x_forwarded_proto", "x_forwarded_host"],
    ...["x-real-ip", "x_real_ip", "x_sandbox_id", "x_sandbox_namespace", "x_sandbox_pod_ip", "x-sandbox_timeout"],
    ...["proxy_authorization", "transfer_encoding", "http2-settings", "content_length", "content.length"],
    ...["x.forwarded.for", "x-forwarded", "x-forwarded-port", "x-forwarded-prefix", "x-forwarded-scheme"],
    ...["x-forwarded-client-cert", "x_forwarded~ssl", "x.real.ip", "x.sandbox.port", "x!sandbox-uid"],
  ])("that programs would take for one of ours does not go through: %s", (name) => {
    expect(keepsRequestHeader(name, rules)).toBe(false);
  });

  it.each([
    ...["x-forwardedness", "forwarded-by", "x-original-url", "my_header", "x_request.id"],
    ...["x-sandbox-id", "x-sandbox-namespace", "x-sandbox-port", "x-sandbox-colour", "content-length"],
  ])("of another name does: %s", (name) => {
    expect(keepsRequestHeader(name, rules)).toBe(true);
  });
});

it.each([
  { byHost: true, upgrade: true, kept: true },
  { byHost: true, upgrade: false, kept: true },
  { byHost: false, upgrade: false, kept: true },
  { byHost: false, upgrade: true, kept: false },
])("Origin is kept: $kept, if the host names the sandbox: $byHost, of an upgrade: $upgrade", ({ kept, ...given }) => {
  expect(keepsRequestHeader("origin", { ...rules, ...given })).toBe(kept);
});

it.each(["traceparent", "tracestate"])("%s of a client is forwarded unless the sandbox continues our trace", (name) => {
  expect(keepsRequestHeader(name, { ...rules, traced: false })).toBe(true);
  expect(keepsRequestHeader(name, { ...rules, traced: true })).toBe(false);
});

it("Trailer goes to a client only with a response that keeps its trailers", () => {
  expect([keepsResponseHeader("trailer", true), keepsResponseHeader("trailer", false)]).toEqual([true, false]);
});

it.each([
  { byHost: true, consumesAuthorization: false, kept: true },
  { byHost: true, consumesAuthorization: true, kept: false },
  { byHost: false, consumesAuthorization: false, kept: false },
])(
  "Authorization is kept: $kept, if the host names the sandbox: $byHost, and read here: $consumesAuthorization",
  (row) => {
    expect(keepsRequestHeader("authorization", { ...rules, ...row })).toBe(row.kept);
  },
);

it.each([
  ["x-a", true],
  ["set-cookie", true],
  ["connection", false],
  ["transfer-encoding", false],
])("the header %s of a response goes to the client: %s", (name, kept) => {
  expect(keepsResponseHeader(name, true)).toBe(kept);
});
