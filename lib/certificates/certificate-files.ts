import { readFile, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Logger } from "../log/log.ts";
import { startTask } from "../process/lifecycle.ts";
import type { Clock } from "../time/clock.ts";
import { type CertificateSource, CurrentCertificate, type ServerCertificate, secretsOf } from "./certificate-source.ts";
import type { CertificatePair } from "./certificates.ts";
import { readAuthorities } from "./read-authorities.ts";

/** The paths of a certificate, its key, and the clients' CA. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
  /** One file that may have both, if neither of the others exists. */
  readonly combined?: string;
  /** Absent: clients present no certificate. */
  readonly clientAuthority?: string;
}

/** A configured certificate does not exist; the message names the files. */
export class NoCertificateFiles extends Error {
  override readonly name = "NoCertificateFiles";
}

export interface CertificateFilesOptions {
  /** The server that uses the certificate, for the log and for errors: "the webhook". */
  readonly server: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each change of the files, with the result. */
  readonly onReload?: (outcome: "success" | "failure") => void;
}

// Kubernetes replaces the directory of a mounted Secret by a symbolic link, which a watch of the files would miss.
export const checkEveryMs = 10_000;

/**
 * Loads the certificate from files, and reloads it when they change. Files that do not match each other yet keep the
 * previous certificate.
 *
 * @throws NoCertificateFiles when the files are missing, or do not match, at the start.
 */
export async function startCertificateFiles(
  files: CertificateFiles,
  { server, clock, log, onReload }: CertificateFilesOptions,
): Promise<CertificateSource> {
  const certificate = new CurrentCertificate(await readCertificateFiles(files, server));
  const task = startTask(`the reload of the certificate files of ${server}`, async (signal) => {
    for (;;) {
      await clock.sleep(checkEveryMs, signal);
      try {
        const found = await readCertificateFiles(files, server);
        if (!certificate.set(found)) continue;
        log.info({ server }, "certificate reloaded");
        onReload?.("success");
      } catch (err) {
        onReload?.("failure");
        log.warn({ err, server }, "cannot reload certificate files; keeping the previous certificate, and retrying");
      }
    }
  });
  const { current, onChange } = certificate;
  return { failed: task.failed, current, onChange, [Symbol.asyncDispose]: () => task[Symbol.asyncDispose]() };
}

async function readCertificateFiles(files: CertificateFiles, server: string): Promise<ServerCertificate> {
  const [{ pair, paths }, authority] = await Promise.all([readPair(files, server), readAuthority(files, server)]);
  const found = { ...pair, ...authority };
  try {
    // All that servers will use. An error there would leave them with the previous certificate, unnoticed.
    createSecureContext(secretsOf({ current: () => found }));
    return found;
  } catch (cause) {
    throw new NoCertificateFiles(`${paths.join(" and ")} are not a certificate with its key`, { cause });
  }
}

interface FoundPair {
  readonly pair: CertificatePair;
  readonly paths: readonly string[];
}

async function readPair(files: CertificateFiles, server: string): Promise<FoundPair> {
  const [certificate, key] = await Promise.all([readRegular(files.certificate), readRegular(files.key)]);
  if (certificate === undefined && key === undefined && files.combined !== undefined) {
    const combined = await readRegular(files.combined);
    if (combined !== undefined) return { pair: { certificate: combined, key: combined }, paths: [files.combined] };
  }
  if (certificate === undefined || key === undefined) {
    const missing = [certificate === undefined ? [files.certificate] : [], key === undefined ? [files.key] : []];
    throw new NoCertificateFiles(`missing certificate files for ${server}: ${missing.flat().join(", ")}`);
  }
  return { pair: { certificate, key }, paths: [files.certificate, files.key] };
}

/** TLS treats an empty CA as absent, and would accept clients with a certificate of any system CA. */
async function readAuthority(
  { clientAuthority: path }: CertificateFiles,
  server: string,
): Promise<Pick<ServerCertificate, "clientAuthority">> {
  if (path === undefined) return {};
  const text = await readRegular(path);
  if (text === undefined) throw new NoCertificateFiles(`missing certificate file for ${server}: ${path}`);
  try {
    return { clientAuthority: readAuthorities(text) };
  } catch (cause) {
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    throw new NoCertificateFiles(`${path} is not a CA certificate${why}`, { cause });
  }
}

/** The text of a file; undefined if it does not exist, or is not a regular file. */
async function readRegular(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, "utf8") : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
