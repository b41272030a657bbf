import { X509Certificate } from "node:crypto";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "./certificates.ts";

const validity = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2099-01-01T00:00:00Z") };

describe("a server certificate", () => {
  it("is accepted by a client that trusts only its authority, under its names and no others", async () => {
    const authority = await makeAuthority("test-ca", validity);
    const pair = await makeServerCertificate(authority, {
      commonName: "api",
      dnsNames: ["localhost"],
      ipAddresses: ["127.0.0.1"],
      validity,
    });
    const server = createServer({ key: pair.key, cert: pair.certificate }, (_request, response) => response.end("ok"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const status = (servername: string) =>
      new Promise((resolve) => {
        get({ host: "127.0.0.1", port, servername, ca: authority.certificate, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
      });
    try {
      expect(await status("localhost")).toBe(200);
      expect(await status("elsewhere.test")).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    } finally {
      server.close();
    }
  });

  it("is valid for exactly the requested time", async () => {
    const authority = await makeAuthority("test-ca", validity);
    const certificate = new X509Certificate(authority.certificate);
    expect(new Date(certificate.validTo)).toEqual(validity.notAfter);
    expect(certificate.ca).toBe(true);
  });
});

describe("a client certificate", () => {
  it("names its user and groups, and is signed by its authority", async () => {
    const authority = await makeAuthority("test-ca", validity);
    const pair = await makeClientCertificate(authority, {
      commonName: "admin",
      organizations: ["system:masters", "people, and others"],
      validity,
    });
    const certificate = new X509Certificate(pair.certificate);
    expect(certificate.subject.split("\n")).toEqual(["O=system:masters", "O=people\\, and others", "CN=admin"]);
    expect(certificate.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  });
});
