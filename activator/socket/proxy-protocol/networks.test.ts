import { describe, expect, it } from "vitest";
import { parseNetworks } from "./networks.ts";

describe("a list of networks", () => {
  it.each([
    { address: "10.0.0.0", is: true },
    { address: "10.255.255.255", is: true },
    { address: "11.0.0.0", is: false },
    { address: "192.0.2.7", is: true },
    { address: "192.0.2.8", is: false },
    { address: "fd12:3456::1", is: true },
    { address: "fe80::1%eth0", is: true },
    { address: "2001:db8::1", is: false },
    { address: "", is: false },
  ])("has the addresses of its networks alone: $address: $is", ({ address, is }) => {
    expect(parseNetworks(" 10.1.2.3/8, fd00::/8,192.0.2.7,,fe80::/10 ")?.has(address)).toBe(is);
  });

  it("is none if it is empty", () => {
    expect(["", " ", ","].map(parseNetworks)).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ...["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0/8", "10.0.0.0/255.0.0.0", "10.0.0.0/0x8"],
    ...["::/129", "fe80::1%eth0/64", "localhost", "any", "[::1]", "10.0.0.1-10.0.0.9"],
  ])("is refused with a part that is no network: %s", (text) => {
    expect(() => parseNetworks(`10.0.0.0/8,${text}`)).toThrow(`"${text}" is not a network like 10.0.0.0/8`);
  });
});
