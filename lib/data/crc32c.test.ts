import { expect, it } from "vitest";
import { crc32c } from "./crc32c.ts";

it.each([
  { of: "nothing", bytes: Buffer.alloc(0), sum: 0 },
  { of: "the digits", bytes: Buffer.from("123456789"), sum: 0xe306_9283 },
  // RFC 3720, B.4
  { of: "32 zeros", bytes: Buffer.alloc(32), sum: 0x8a91_36aa },
  { of: "32 bytes of ones", bytes: Buffer.alloc(32, 0xff), sum: 0x62a8_ab43 },
])("the checksum of $of is the published one", ({ bytes, sum }) => {
  expect(crc32c(bytes)).toBe(sum);
});
