import { createSecureContext } from "node:tls";
import { describe, expect, it } from "vitest";
import { makeAuthority, makeClientCertificate } from "./certificates.ts";
import { readAuthorities } from "./read-authorities.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2027-01-01") };
const [a, b] = await Promise.all([makeAuthority("a", validity), makeAuthority("b", validity)]);
const client = await makeClientCertificate(a, { commonName: "c", organizations: [], validity });
const [first, second] = [a.certificate.trim(), b.certificate.trim()];
const broken = second.replace(/\n(.{10})/, "\n!!!!$1");

describe("a file of CA certificates", () => {
  it.each([
    ["one", first, [first]],
    ["two", `${first}\n${second}\n`, [first, second]],
    ["text before, between and behind", `# a\n${first}\nb\n${second}\nc`, [first, second]],
    ["the key of one between them", `${first}\n${a.key}\n${second}`, [first, second]],
    ["lines that end with CR LF", first.replaceAll("\n", "\r\n"), [first.replaceAll("\n", "\r\n")]],
  ])("with %s is read whole", (_, text, expected) => {
    const read = readAuthorities(text);
    expect(read).toBe(expected.join("\n"));
    expect(() => createSecureContext({ ca: read })).not.toThrow();
  });

  it.each([
    ["nothing", "", "it has no certificate"],
    ["only a key", a.key, "it has no certificate"],
    ["a certificate that is cut", `${first}\n${second.slice(0, 200)}`, "it has a certificate that is cut or malformed"],
    [
      "one that is cut before another",
      `${second.slice(0, 200)}\n${first}`,
      "it has a certificate that is cut or malformed",
    ],
    ["a beginning that is malformed", `${first}\n${second.slice(1)}`, "it has a certificate that is cut or malformed"],
    [
      "trust settings",
      first.replaceAll("CERTIFICATE", "TRUSTED CERTIFICATE"),
      "it has a certificate that is cut or malformed",
    ],
    ["one that is malformed", `${first}\n${broken}\n${first}`, "its certificate 2 of 3 cannot be read"],
    ["the certificate of a client", `${first}\n${client.certificate}`, "its certificate 2 of 2 is not that of a CA"],
  ])("with %s is refused", (_, text, message) => {
    expect(() => readAuthorities(text)).toThrow(message);
  });
});
