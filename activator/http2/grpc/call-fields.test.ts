import { expect, it } from "vitest";
import { valuesOf } from "../../../test/support/http2-client.ts";
import { callFields, forwardedFields } from "./call-fields.ts";

it("a cookie of a call belongs to the host of its sandbox alone", () => {
  const fields = [":status", "200", "x-a", "1", "set-cookie", "a=1; Domain=sandbox.example.com"];
  fields.push("set-cookie", ";Domain=sandbox.example.com");
  expect([...forwardedFields(fields, { host: "nova.t1.sandbox.example.com", base: undefined })]).toEqual([
    ["x-a", "1"],
    ["set-cookie", "a=1"],
  ]);
  expect([...forwardedFields(fields)][1]).toEqual(["set-cookie", "a=1; Domain=sandbox.example.com"]);
});

it("a call by path is sent without the path of its sandbox and without the cookie of the activator", () => {
  const path = "/s/default/nova/8080/a.B/C";
  const head = { host: "h", clientIp: "192.0.2.1", scheme: "https", target: path, sandboxTarget: "/a.B/C" } as const;
  const base = { text: "/s/default/nova/8080/", rewritesResponses: true, sessionCookie: "own", hiddenParameter: "t" };
  const by = { byHost: false, base: { ...base, podAuthority: "p" }, hidden: base };
  const rules = { ...by, consumesAuthorization: true, trace: undefined };
  const to = { pod: { ip: "10.0.0.1", port: 8080 }, leftMs: Number.POSITIVE_INFINITY };
  const sent = callFields(
    {
      head,
      fields: [
        ["Cookie", "own=1; a=2"],
        ["cookie", "own=3"],
        ["referer", "https://h/s/default/nova/8080/page?a=1&t=TOKEN&b"],
      ],
    },
    rules,
    to,
  );
  expect(valuesOf(sent, "cookie")).toEqual(["a=2"]);
  expect(valuesOf(sent, "referer")).toEqual(["https://h/s/default/nova/8080/page?a=1&b"]);
  expect([valuesOf(sent, ":path"), valuesOf(sent, "x-forwarded-prefix")]).toEqual([
    ["/a.B/C"],
    ["/s/default/nova/8080"],
  ]);
  const named = { ...rules, byHost: true, base: undefined, hidden: undefined };
  const byHost = callFields({ head, fields: [["cookie", "own=1"]] }, named, to);
  expect([valuesOf(byHost, "cookie"), valuesOf(byHost, "x-forwarded-prefix")]).toEqual([["own=1"], []]);
});
