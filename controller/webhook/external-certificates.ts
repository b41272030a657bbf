import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import type { CertificatePair } from "../../lib/certificates.ts";
import type { Clock } from "../../lib/clock.ts";
import { startTask } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { type CertificateSource, CurrentCertificate } from "./certificate-source.ts";

export interface CertificateFiles {
  readonly directory: string;
  readonly certName: string;
  readonly keyName: string;
}

/** There is no certificate to serve with where one was promised; the message names the files. */
export class NoCertificateFiles extends Error {
  override readonly name = "NoCertificateFiles";
}

export const defaultCertName = "tls.crt";
export const defaultKeyName = "tls.key";
const combinedName = "cert.pem";

// Kubernetes swaps the directory of a mounted Secret by a symbolic link, which watching the files would not notice.
export const lookEveryMs = 10_000;

/**
 * Shows the certificate that somebody else puts into a directory, and the next one soon after it is there. Files that are
 * only half replaced are left alone until they fit each other.
 *
 * @throws NoCertificateFiles when there are none, or they do not fit each other, to begin with.
 */
export async function startExternalCertificates(
  files: CertificateFiles,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<CertificateSource> {
  const current = new CurrentCertificate(await readCertificateFiles(files));
  const task = startTask("the look at the webhook's certificate files", async (signal) => {
    for (;;) {
      await clock.sleep(lookEveryMs, signal);
      try {
        if (current.set(await readCertificateFiles(files))) log.info("the webhook shows a new certificate");
      } catch (err) {
        log.warn({ err }, "the webhook's certificate files cannot be used; going on with those from before");
      }
    }
  });
  return {
    failed: task.failed,
    current: () => current.get(),
    onChange: (listener) => current.onChange(listener),
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/** Only where neither file has another name than usual, and neither is there, may one file hold both. */
async function readCertificateFiles({ directory, certName, keyName }: CertificateFiles): Promise<CertificatePair> {
  const [certificate, key] = await Promise.all([readRegular(directory, certName), readRegular(directory, keyName)]);
  const usualNames = certName === defaultCertName && keyName === defaultKeyName;
  if (certificate === undefined && key === undefined && usualNames) {
    const combined = await readRegular(directory, combinedName);
    if (combined !== undefined) return fitting({ certificate: combined, key: combined }, [combinedName]);
  }
  const missing = [certificate === undefined ? [certName] : [], key === undefined ? [keyName] : []].flat();
  if (certificate === undefined || key === undefined) {
    throw new NoCertificateFiles(`${directory} has no file ${missing.join(" and no file ")} for the webhook`);
  }
  return fitting({ certificate, key }, [certName, keyName]);
}

/** The text of a file; undefined when there is none of that name, or it is something else than a file. */
async function readRegular(directory: string, name: string): Promise<string | undefined> {
  const path = join(directory, name);
  try {
    return (await stat(path)).isFile() ? await readFile(path, "utf8") : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function fitting(pair: CertificatePair, names: readonly string[]): CertificatePair {
  try {
    createSecureContext({ cert: pair.certificate, key: pair.key });
    return pair;
  } catch (cause) {
    throw new NoCertificateFiles(`${names.join(" and ")} are no certificate with its key`, { cause });
  }
}
