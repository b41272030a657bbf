import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { makeAuthority } from "../../lib/certificates/certificates.ts";
import { registerCertificateEnds } from "./certificate-ends.ts";

it("metrics have the expiry of each certificate in use, and of no other", async () => {
  const registry = new Registry();
  const endingIn = async (year: string) =>
    (await makeAuthority("any", { notBefore: new Date("2026-01-01"), notAfter: new Date(`${year}-01-01`) }))
      .certificate;
  let shown = await endingIn("2027");
  registerCertificateEnds(registry, { webhook: () => shown, drain: undefined });
  const lines = async () => (await registry.metrics()).split("\n").filter((line) => line.startsWith("rouse_"));
  const line = (year: string) =>
    `rouse_certificate_expiry_timestamp_seconds{certificate="webhook"} ${Date.parse(`${year}-01-01`) / 1_000}`;
  expect(await lines()).toEqual([line("2027")]);
  shown = await endingIn("2028");
  expect(await lines()).toEqual([line("2028")]);
});
