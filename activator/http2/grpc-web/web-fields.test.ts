import { expect, it } from "vitest";
import type { HeaderPair, WebForm } from "../../request.ts";
import { lastFields, requestFields, responseFields } from "./web-fields.ts";

const form: WebForm = { codec: "+proto", sendsText: true, takesText: true, origin: undefined };

it("a call of gRPC-Web loses what describes its form and its connection", () => {
  const sent: readonly HeaderPair[] = [
    ["Content-Type", "application/grpc-web-text+proto"],
    ["Content-Length", "8"],
    ["Accept", "application/grpc-web-text"],
    ["Connection", "X-Own, keep-alive"],
    ["X-Own", "1"],
    ["X-Grpc-Web", "1"],
    ["X-User-Agent", "page"],
    ["Expect", "100-continue"],
    ["Trailer", "x-a"],
  ];
  expect(requestFields(sent, form)).toEqual([
    ["content-type", "application/grpc+proto"],
    ["X-User-Agent", "page"],
  ]);
});

it("the permission of the activator replaces that of a sandbox, which stays without one", () => {
  const fields: readonly HeaderPair[] = [
    ["content-type", "application/grpc"],
    ["access-control-allow-origin", "*"],
    ["access-control-allow-credentials", "true"],
    ["grpc-encoding", "gzip"],
  ];
  const type: HeaderPair = ["content-type", "application/grpc-web-text+proto"];
  expect(responseFields(fields, form)).toEqual([type, ...fields.slice(1)]);
  expect(responseFields(fields, { ...form, origin: "https://app.example.com" })).toEqual([
    type,
    ["access-control-allow-origin", "https://app.example.com"],
    ["access-control-expose-headers", "*"],
    ["vary", "origin"],
    ["grpc-encoding", "gzip"],
  ]);
});

it("no field of a sandbox can be read as two lines", () => {
  const fields: readonly HeaderPair[] = [
    ["grpc-message", "a\r\ngrpc-status: 0"],
    ["x\r\ngrpc-status", "0"],
    ["grpc-status", "7"],
  ];
  expect(lastFields(fields, 200)).toEqual([["grpc-status", "7"]]);
  expect(responseFields([["x-a", "b\r\nx-c: d"]], form)).toEqual([["content-type", "application/grpc-web-text+proto"]]);
});
