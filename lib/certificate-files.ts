import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { type CertificateSource, CurrentCertificate, type ServerCertificate } from "./certificate-source.ts";
import type { CertificatePair } from "./certificates.ts";
import type { Clock } from "./clock.ts";
import { startTask } from "./lifecycle.ts";
import type { Logger } from "./log.ts";

/** Where a certificate and its key are, and the authority of those who call, as paths. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
  /** One file that may hold both, where neither of the others is there. */
  readonly combined?: string;
  /** Absent: clients show no certificate. */
  readonly clientAuthority?: string;
}

/** There is no certificate to serve with where one was promised; the message names the files. */
export class NoCertificateFiles extends Error {
  override readonly name = "NoCertificateFiles";
}

export interface CertificateFilesOptions {
  /** Who shows the certificate, for the log and for errors: "the webhook". */
  readonly server: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each change of the files, by whether they can be used. */
  readonly onReload?: (outcome: "success" | "failure") => void;
}

// Kubernetes swaps the directory of a mounted Secret by a symbolic link, which watching the files would not notice.
export const lookEveryMs = 10_000;

/**
 * Shows the certificate that somebody else puts into files, and the next one soon after it is there. Files that are
 * only half replaced are left alone until they fit each other.
 *
 * @throws NoCertificateFiles when there are none, or they do not fit each other, to begin with.
 */
export async function startCertificateFiles(
  files: CertificateFiles,
  { server, clock, log, onReload }: CertificateFilesOptions,
): Promise<CertificateSource> {
  const certificate = new CurrentCertificate(await readCertificateFiles(files, server));
  const task = startTask(`the look at the certificate files of ${server}`, async (signal) => {
    for (;;) {
      await clock.sleep(lookEveryMs, signal);
      try {
        const found = await readCertificateFiles(files, server);
        if (!certificate.set(found)) continue;
        log.info({ server }, "a new certificate is shown");
        onReload?.("success");
      } catch (err) {
        onReload?.("failure");
        log.warn({ err, server }, "certificate files cannot be used; going on with those from before");
      }
    }
  });
  const { current, onChange } = certificate;
  return { failed: task.failed, current, onChange, [Symbol.asyncDispose]: () => task[Symbol.asyncDispose]() };
}

async function readCertificateFiles(files: CertificateFiles, server: string): Promise<ServerCertificate> {
  const [pair, authority] = await Promise.all([readPair(files, server), readAuthority(files, server)]);
  return { ...pair, ...authority };
}

async function readPair(files: CertificateFiles, server: string): Promise<CertificatePair> {
  const [certificate, key] = await Promise.all([readRegular(files.certificate), readRegular(files.key)]);
  if (certificate === undefined && key === undefined && files.combined !== undefined) {
    const combined = await readRegular(files.combined);
    if (combined !== undefined) return fitting({ certificate: combined, key: combined }, [files.combined]);
  }
  if (certificate === undefined || key === undefined) {
    const missing = [certificate === undefined ? [files.certificate] : [], key === undefined ? [files.key] : []];
    throw new NoCertificateFiles(`there is no file ${missing.flat().join(" and no file ")} for ${server}`);
  }
  return fitting({ certificate, key }, [files.certificate, files.key]);
}

/** An empty authority would be taken for none by TLS, and let in whoever has a certificate of any authority of the system. */
async function readAuthority(
  { clientAuthority: path }: CertificateFiles,
  server: string,
): Promise<Pick<ServerCertificate, "clientAuthority">> {
  if (path === undefined) return {};
  const clientAuthority = await readRegular(path);
  if (clientAuthority === undefined) throw new NoCertificateFiles(`there is no file ${path} for ${server}`);
  try {
    new X509Certificate(clientAuthority);
    return { clientAuthority };
  } catch (cause) {
    throw new NoCertificateFiles(`${path} is no certificate of an authority`, { cause });
  }
}

/** The text of a file; undefined when there is none of that name, or it is something else than a file. */
async function readRegular(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, "utf8") : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function fitting(pair: CertificatePair, paths: readonly string[]): CertificatePair {
  try {
    createSecureContext({ cert: pair.certificate, key: pair.key });
    return pair;
  } catch (cause) {
    throw new NoCertificateFiles(`${paths.join(" and ")} are no certificate with its key`, { cause });
  }
}
