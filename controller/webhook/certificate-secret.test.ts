import { describe, expect, it } from "vitest";
import type { Secret } from "../../api/kinds/core.ts";
import { webhookService } from "../../test/support/labs/webhook-world.ts";
import { certificateSecretData, readCertificateSecret, UnusableSecret } from "./certificate-secret.ts";
import { makeCertificates } from "./make-certificates.ts";

const now = new Date("2026-06-01T00:00:00Z");
const set = await makeCertificates(webhookService, "cluster.local", now);
const other = await makeCertificates(webhookService, "cluster.local", now);
const data = certificateSecretData(set);
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const secretOf = (changes: Readonly<Record<string, string>>): Secret => ({
  metadata: { namespace: "agent-sandbox-system", name: "agent-sandbox-webhook-certs" },
  data: { ...data, ...changes },
});

describe("the Secret of the webhook's certificates", () => {
  it("is read as it was written", () => {
    expect(readCertificateSecret(secretOf({}))).toEqual({
      ...set,
      authorities: set.authorities.map((authority) => authority.trim()),
    });
  });

  it("needs no key of the authority, for others do not put it in, and takes none of another authority", () => {
    const { "ca.key": _, ...theirs } = data;
    expect(readCertificateSecret({ ...secretOf({}), data: theirs }).authorityKey).toBeUndefined();
    expect(
      readCertificateSecret(secretOf({ "ca.key": base64(other.authorityKey ?? "") })).authorityKey,
    ).toBeUndefined();
  });

  it.each([
    { wrong: "ca.crt", text: "", says: "ca.crt holds no PEM certificate" },
    { wrong: "ca.crt", text: "garbage", says: "ca.crt holds no PEM certificate" },
    { wrong: "tls.crt", text: "", says: "tls.crt holds no PEM certificate" },
    {
      wrong: "tls.crt",
      text: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      says: "tls.crt holds no PEM certificate",
    },
    { wrong: "tls.key", text: "", says: "tls.key holds no PEM private key" },
    { wrong: "tls.key", text: other.server.key, says: "tls.key is not the key of tls.crt" },
  ])("cannot be used when $wrong is wrong: $says", ({ wrong, text, says }) => {
    const read = () => readCertificateSecret(secretOf({ [wrong]: base64(text) }));
    expect(read).toThrow(UnusableSecret);
    expect(read).toThrow(`Secret agent-sandbox-system/agent-sandbox-webhook-certs: ${says}; delete it`);
  });
});
