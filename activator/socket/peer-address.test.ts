import { describe, expect, it } from "vitest";
import { peerAddress } from "./peer-address.ts";

describe("the address of a peer", () => {
  it.each([
    ["10.1.2.3", "10.1.2.3"],
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["FD00::1", "fd00::1"],
    ["2002:a01:203::1", "2002:a01:203::1"], // a 6to4 address is a router for 10.1.2.3, not that Pod
    ["64:ff9b::a01:203", "64:ff9b::a01:203"],
    ["::10.1.2.3", "::10.1.2.3"],
    [undefined, ""],
  ])("%s is that of the Pod %s", (remoteAddress, expected) => {
    expect(peerAddress({ remoteAddress })).toBe(expected);
  });
});
