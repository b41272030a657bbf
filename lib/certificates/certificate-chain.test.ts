import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { certificatesIn, chainTrustedForMs } from "./certificate-chain.ts";
import { makeAuthority, makeClientCertificate } from "./certificates.ts";

const day = (days: number) => new Date(Date.UTC(2026, 0, 1 + days));
const dayMs = 24 * 3_600_000;
const from = (first: number, last: number) => ({ notBefore: day(first), notAfter: day(last) });

async function chain(ofAuthority: readonly [number, number], ofCertificate: readonly [number, number]) {
  const authority = await makeAuthority("ca", from(...ofAuthority));
  const request = { commonName: "me", organizations: [], validity: from(...ofCertificate) };
  const { certificate } = await makeClientCertificate(authority, request);
  return { certificate, authorities: [authority.certificate] };
}

describe("a chain of certificates", () => {
  it("is trusted from the later beginning to the earlier end of its two", async () => {
    const shorter = await chain([0, 100], [10, 90]);
    const longer = await chain([10, 90], [0, 100]);
    for (const both of [shorter, longer]) {
      const trustedDays = [9, 10, 50, 90, 95].map((at) => chainTrustedForMs(both, day(at)) / dayMs);
      expect(trustedDays).toEqual([0, 80, 40, 0, 0]);
    }
  });

  it("is trusted by the one of many authorities that signed it, and by no other of the same name", async () => {
    const mine = await chain([0, 100], [0, 100]);
    const theirs = await chain([0, 100], [0, 100]);
    const authorities = [...theirs.authorities, ...mine.authorities];
    expect(chainTrustedForMs({ ...mine, authorities }, day(1))).toBe(99 * dayMs);
    expect(chainTrustedForMs({ ...mine, authorities: theirs.authorities }, day(1))).toBe(0);
    expect(chainTrustedForMs({ ...mine, authorities: [] }, day(1))).toBe(0);
  });

  it("is read from a text with any number of certificates and remarks", async () => {
    const { certificate, authorities } = await chain([0, 1], [0, 1]);
    const found = certificatesIn(`made by hand\n${certificate}\n# and\n${authorities.join("\n")}`);
    expect(found.map((pem) => new X509Certificate(pem).subject)).toEqual(["CN=me", "CN=ca"]);
    expect(() => chainTrustedForMs({ certificate: "none", authorities }, day(0))).toThrow(Error);
  });
});
