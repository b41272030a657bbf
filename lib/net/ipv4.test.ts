import { expect, it } from "vitest";
import { ipv4Number, ipv4Text } from "./ipv4.ts";

it.each([
  ["0.0.0.0", 0],
  ["127.0.0.1", 0x7f_00_00_01],
  ["255.255.255.254", 2 ** 32 - 2],
])("the address %s is the number %d, both ways", (text, number) => {
  expect(ipv4Number(text)).toBe(number);
  expect(ipv4Text(number)).toBe(text);
});

it.each(["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.0x4", "01.2.3.4", "::1", " 1.2.3.4"])(
  "there is no number for %j, which is not an address in dotted form",
  (text) => {
    expect(ipv4Number(text)).toBeUndefined();
  },
);
