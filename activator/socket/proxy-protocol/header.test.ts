import { describe, expect, it } from "vitest";
import {
  extra,
  ipv4Block,
  ipv6Block,
  signature,
  version1,
  version2,
  withChecksum,
} from "../../../test/support/builders/proxy-headers.ts";
import { readProxyHeader } from "./header.ts";

const clientOf = (bytes: Buffer) => {
  const step = readProxyHeader(Buffer.concat([bytes, Buffer.from("GET / HTTP/1.1\r\n")]));
  if (step.is === "refused") return step.reason;
  if (step.is === "complete") expect(step.length).toBe(bytes.length);
  return step.is === "complete" ? (step.clientIp ?? "the peer") : step.is;
};

const wide = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";

describe("a header of version 1", () => {
  it.each([
    ["TCP4 192.0.2.1 10.0.0.1 56324 443", "192.0.2.1"],
    ["TCP4 0.0.0.0 255.255.255.255 0 65535", "0.0.0.0"],
    ["TCP6 2001:DB8:0:0::1 ::1 1 2", "2001:db8::1"],
    ["TCP6 ::ffff:192.0.2.1 ::1 1 2", "192.0.2.1"],
    [`TCP6 ${wide} ${wide} 65535 65535`, wide],
    ["UNKNOWN", "the peer"],
    ["UNKNOWN ", "the peer"],
    ["UNKNOWN whatever \0 it says", "the peer"],
    [`UNKNOWN ${wide} ${wide} 65535 65535`, "the peer"],
  ])("tells its client: %s", (text, client) => {
    expect(clientOf(version1(text))).toBe(client);
  });

  it.each([
    ...["TCP4 192.0.2.1 10.0.0.1 1", "TCP4 192.0.2.1 10.0.0.1 1 2 ", "TCP4 192.0.2.1 10.0.0.1 1 2 3"],
    ...["TCP4  192.0.2.1 10.0.0.1 1 2", "TCP4\t192.0.2.1 10.0.0.1 1 2", " TCP4 192.0.2.1 10.0.0.1 1 2"],
    ...["TCP4 192.0.2.01 10.0.0.1 1 2", "TCP4 192.0.2 10.0.0.1 1 2", "TCP4 192.0.2.256 10.0.0.1 1 2"],
    ...["TCP4 192.0.2.1 10.0.0.1 01 2", "TCP4 192.0.2.1 10.0.0.1 1 65536", "TCP4 192.0.2.1 10.0.0.1 -1 2"],
    ...["TCP4 192.0.2.1 10.0.0.1 1 ", "TCP4 192.0.2.1 10.0.0.1  1", "TCP4 192.0.2.1 10.0.0.1 1 +2"],
    ...["TCP4 ::1 ::2 1 2", "TCP6 192.0.2.1 10.0.0.1 1 2", "TCP4 192.0.2.1 ::2 1 2", "TCP6 fe80::1%eth0 ::1 1 2"],
    ...["TCP6 1::2::3 ::1 1 2", "TCP6 [::1] ::1 1 2", "tcp4 192.0.2.1 10.0.0.1 1 2", "UDP4 192.0.2.1 10.0.0.1 1 2"],
    ...["", "TCP4", "TCP5 192.0.2.1 10.0.0.1 1 2", "UNKNOWNX", "unknown", "TCP4 nova 10.0.0.1 1 2"],
    ...["UNKNOWN\nX", "UNKNOWN\rX", "TCP4 192.0.2.1 10.0.0.1 1 2\n"],
  ])("is malformed in any other form: %j", (text) => {
    expect(clientOf(version1(text))).toBe("Malformed");
  });

  it("ends within 107 bytes", () => {
    const longest = version1(`UNKNOWN ${"x".repeat(91)}`);
    expect([longest.length, clientOf(longest)]).toEqual([107, "the peer"]);
    expect(clientOf(version1(`UNKNOWN ${"x".repeat(92)}`))).toBe("TooLong");
    expect(readProxyHeader(Buffer.from(`PROXY UNKNOWN ${"x".repeat(93)}`))).toEqual({
      is: "refused",
      reason: "TooLong",
    });
  });
});

const local = { versionAndCommand: 0x20 };

describe("a header of version 2", () => {
  it.each([
    { of: "TCP over IPv4", header: version2(), client: "192.0.2.1" },
    {
      of: "TCP over IPv6",
      header: version2({ family: 0x21, block: ipv6Block(`20010db8${"00".repeat(11)}01`) }),
      client: "2001:db8::1",
    },
    {
      of: "IPv4 within IPv6",
      header: version2({ family: 0x21, block: ipv6Block(`${"00".repeat(10)}ffffc0000201`) }),
      client: "192.0.2.1",
    },
    { of: "a UNIX socket", header: version2({ family: 0x31, block: Buffer.alloc(216, "/") }), client: "the peer" },
    { of: "UDP", header: version2({ family: 0x12 }), client: "the peer" },
    { of: "an unknown family", header: version2({ family: 0x00, block: Buffer.alloc(0) }), client: "the peer" },
    {
      of: "an unknown family with bytes",
      header: version2({ family: 0x00, block: Buffer.alloc(9) }),
      client: "the peer",
    },
    { of: "an unknown transport", header: version2({ family: 0x10 }), client: "the peer" },
    { of: "the proxy itself", header: version2({ ...local, family: 0, block: Buffer.alloc(0) }), client: "the peer" },
    { of: "the proxy itself, with an address", header: version2(local), client: "the peer" },
    {
      of: "the proxy itself, with any block",
      header: version2({ ...local, family: 0xff, block: Buffer.alloc(3) }),
      client: "the peer",
    },
    { of: "a right checksum", header: withChecksum({}), client: "192.0.2.1" },
  ])("tells its client: $of", ({ header, client }) => {
    expect(clientOf(header)).toBe(client);
  });

  const address = ipv4Block("192.0.2.1");
  const withExtras = (...parts: readonly Buffer[]) => version2({ block: Buffer.concat([address, ...parts]) });
  it.each([
    { of: "another version", header: version2({ versionAndCommand: 0x11 }), reason: "Malformed" },
    { of: "another command", header: version2({ versionAndCommand: 0x22 }), reason: "Malformed" },
    { of: "another family", header: version2({ family: 0x41 }), reason: "Malformed" },
    { of: "another transport", header: version2({ family: 0x13 }), reason: "Malformed" },
    { of: "a short address", header: version2({ block: address.subarray(1) }), reason: "Malformed" },
    { of: "a short address of IPv6", header: version2({ family: 0x21, block: Buffer.alloc(35) }), reason: "Malformed" },
    { of: "a short path", header: version2({ family: 0x31, block: Buffer.alloc(215) }), reason: "Malformed" },
    { of: "a part of an extra", header: withExtras(Buffer.from([4, 0])), reason: "Malformed" },
    { of: "an extra beyond its end", header: withExtras(Buffer.from([4, 0, 2, 0])), reason: "Malformed" },
    { of: "a short checksum", header: withExtras(extra(3, Buffer.alloc(3))), reason: "Malformed" },
    {
      of: "two checksums",
      header: withExtras(extra(3, Buffer.alloc(4)), extra(3, Buffer.alloc(4))),
      reason: "Malformed",
    },
    { of: "a wrong checksum", header: withChecksum({}, 1), reason: "WrongChecksum" },
    { of: "more than 4,096 bytes", header: version2({ block: Buffer.alloc(4_097) }), reason: "TooLong" },
  ])("is refused with $of", ({ header, reason }) => {
    expect(clientOf(header)).toBe(reason);
  });

  it("may have 4,096 bytes behind its fixed part, whatever they say", () => {
    const value = Buffer.alloc(4_096 - address.length - 3, 7);
    expect(clientOf(withExtras(extra(0x20, value)))).toBe("192.0.2.1");
    expect(clientOf(withChecksum({ block: Buffer.concat([address, extra(0xee, Buffer.alloc(4_000))]) }))).toBe(
      "192.0.2.1",
    );
  });

  it("is refused by its fixed part, before its block has come", () => {
    expect(readProxyHeader(version2({ versionAndCommand: 0x22 }).subarray(0, 13))).toMatchObject({
      reason: "Malformed",
    });
    expect(readProxyHeader(version2({ length: 4_097 }).subarray(0, 16))).toMatchObject({ reason: "TooLong" });
  });
});

describe("other bytes", () => {
  it.each([
    ...["GET / HTTP/1.1\r\n", "PRI * HTTP/2.0", "P", "PROX", "PROXY"].slice(0, 2),
    ...["proxy TCP4", "PROXYTCP4", "PROXY\tTCP4", "\r\n\r\n\0\r\nQUIX", "\r\nGET", "\x16\x03\x01", "\0"],
  ])("are no header, as their first differing byte shows: %j", (text) => {
    expect(readProxyHeader(Buffer.from(text, "latin1"))).toEqual({ is: "refused", reason: "Missing" });
  });

  it.each(["", "P", "PROXY", "PROXY ", "\r", "\r\n\r\n\0\r\nQUIT"])("may become one: %j", (text) => {
    expect(readProxyHeader(Buffer.from(text, "latin1"))).toEqual({ is: "incomplete" });
    expect(signature.length).toBe(12);
  });
});
