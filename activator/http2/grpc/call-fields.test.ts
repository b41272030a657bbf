import { expect, it } from "vitest";
import { forwardedFields } from "./call-fields.ts";

it("a cookie of a call belongs to the host of its sandbox alone", () => {
  const fields = [":status", "200", "x-a", "1", "set-cookie", "a=1; Domain=sandbox.example.com"];
  fields.push("set-cookie", ";Domain=sandbox.example.com");
  expect([...forwardedFields(fields, { host: "nova.t1.sandbox.example.com", base: undefined })]).toEqual([
    ["x-a", "1"],
    ["set-cookie", "a=1"],
  ]);
  expect([...forwardedFields(fields)][1]).toEqual(["set-cookie", "a=1; Domain=sandbox.example.com"]);
});
