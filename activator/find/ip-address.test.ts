import { expect, it } from "vitest";
import { canonicalIp, isDiallable } from "./ip-address.ts";

it.each([
  ["::1", "::1"],
  ["::", "::"],
  ["::2", "0.0.0.2"],
  ["::ffff:10.1.2.3", "10.1.2.3"],
  ["64:ff9b::a01:203", "10.1.2.3"],
  ["2002:a01:203::", "10.1.2.3"],
  ["FD00::0:1", "fd00::1"],
])("the address %s is read as %s", (text, canonical) => {
  expect(canonicalIp(text)).toBe(canonical);
});

it("a loopback address may be a Pod's only where that is allowed", () => {
  for (const ip of ["127.0.0.1", "::1"]) expect([isDiallable(ip, true), isDiallable(ip, false)]).toEqual([true, false]);
});
