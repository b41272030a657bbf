import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { waiting } from "../../test/support/waiting.ts";
import { silentLogger } from "../log/log.ts";
import { FakeClock } from "../time/clock.ts";
import { checkEveryMs, NoCertificateFiles, startCertificateFiles } from "./certificate-files.ts";
import { makeAuthority, makeServerCertificate } from "./certificates.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2027-01-01") };
const authority = await makeAuthority("an authority", validity);
const newPair = () =>
  makeServerCertificate(authority, { commonName: "here", dnsNames: ["here"], ipAddresses: [], validity });
const [first, second] = await Promise.all([newPair(), newPair()]);

async function openDirectory(files: Readonly<Record<string, string>>) {
  const path = await mkdtemp(join(tmpdir(), "webhook-certs-"));
  const write = async (name: string, text: string) => writeFile(join(path, name), text);
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const usual = { certificate: join(path, "tls.crt"), key: join(path, "tls.key"), combined: join(path, "cert.pem") };
  return { path, usual, write, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

const start = (files: Parameters<typeof startCertificateFiles>[0], clock = new FakeClock()) =>
  startCertificateFiles(files, { server: "the test", clock, log: silentLogger });

describe("a certificate in files that another program writes", () => {
  it("is loaded from two files of any name", async () => {
    await using directory = await openDirectory({ "a.pem": first.certificate, "b.pem": first.key });
    await using certificates = await start({
      certificate: join(directory.path, "a.pem"),
      key: join(directory.path, "b.pem"),
    });
    expect(certificates.current()).toEqual(first);
  });

  it("may be in one file with its key", async () => {
    const both = `${first.key}\n${first.certificate}`;
    await using directory = await openDirectory({ "cert.pem": both });
    await using certificates = await start(directory.usual);
    expect(certificates.current()).toEqual({ certificate: both, key: both });
  });

  it("is not searched in one file by default", async () => {
    await using directory = await openDirectory({ "cert.pem": `${first.key}\n${first.certificate}` });
    const { certificate, key } = directory.usual;
    await expect(start({ certificate, key })).rejects.toThrow(
      `missing certificate files for the test: ${certificate}, ${key}`,
    );
  });

  it("stops the start when half of it is missing, is no file, or does not fit", async () => {
    await using half = await openDirectory({ "tls.crt": first.certificate, "cert.pem": first.certificate });
    await expect(start(half.usual)).rejects.toThrow(`missing certificate files for the test: ${half.usual.key}`);
    await mkdir(join(half.path, "tls.key"));
    await expect(start(half.usual)).rejects.toThrow(`missing certificate files for the test: ${half.usual.key}`);
    await using unfit = await openDirectory({ "tls.crt": first.certificate, "tls.key": second.key });
    await expect(start(unfit.usual)).rejects.toThrow(NoCertificateFiles);
  });

  it("is followed by the next one within ten seconds, and not by half of it", async () => {
    await using directory = await openDirectory({ "tls.crt": first.certificate, "tls.key": first.key });
    const clock = new FakeClock();
    await using certificates = await start(directory.usual, clock);
    const seen: unknown[] = [];
    using _listening = certificates.onChange((pair) => seen.push(pair));
    await directory.write("tls.crt", second.certificate);
    await clock.advance(checkEveryMs);
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    expect(certificates.current()).toEqual(first);
    await directory.write("tls.key", second.key);
    await clock.advance(checkEveryMs);
    await vi.waitFor(() => expect(certificates.current()).toEqual(second), waiting);
    expect(seen).toEqual([second]);
  });

  it("is followed, and so is the authority of clients, which is never empty", async () => {
    const [former, next] = [authority.certificate, (await makeAuthority("the next", validity)).certificate];
    await using directory = await openDirectory({ "tls.crt": first.certificate, "tls.key": first.key, "ca.crt": "" });
    const files = { ...directory.usual, clientAuthority: join(directory.path, "ca.crt") };
    await expect(start(files)).rejects.toThrow(`${files.clientAuthority} is not a CA certificate`);
    await directory.write("ca.crt", former);
    const clock = new FakeClock();
    const reloads: string[] = [];
    const options = { server: "the test", clock, log: silentLogger, onReload: (how: string) => reloads.push(how) };
    await using certificates = await startCertificateFiles(files, options);
    expect(certificates.current()).toEqual({ ...first, clientAuthority: former });
    for (const [written, current] of [
      ["", former],
      [`${former}\n${next.slice(0, 200)}`, former],
      [first.certificate, former],
      [next, next],
    ] as const) {
      await directory.write("ca.crt", written);
      await clock.advance(checkEveryMs);
      await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
      expect(certificates.current().clientAuthority).toBe(current);
    }
    expect(reloads).toEqual(["failure", "failure", "failure", "success"]);
    await rm(files.clientAuthority);
    await expect(start(files)).rejects.toThrow(`missing certificate file for the test: ${files.clientAuthority}`);
  });

  it("is followed when the directory is swapped by a link, as the kubelet does", async () => {
    await using directory = await openDirectory({});
    for (const [version, pair] of Object.entries({ v1: first, v2: second })) {
      await mkdir(join(directory.path, version));
      await directory.write(`${version}/tls.crt`, pair.certificate);
      await directory.write(`${version}/tls.key`, pair.key);
    }
    await symlink("v1", join(directory.path, "data"));
    for (const name of ["tls.crt", "tls.key"]) await symlink(`data/${name}`, join(directory.path, name));
    const clock = new FakeClock();
    await using certificates = await start(directory.usual, clock);
    expect(certificates.current()).toEqual(first);
    await symlink("v2", join(directory.path, "data.next"));
    await rename(join(directory.path, "data.next"), join(directory.path, "data"));
    await clock.advance(checkEveryMs);
    await vi.waitFor(() => expect(certificates.current()).toEqual(second), waiting);
  });
});
