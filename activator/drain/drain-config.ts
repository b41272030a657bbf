import type { CertificateFiles } from "../../lib/certificates/certificate-files.ts";

interface Values {
  readonly "drain-tls-cert-file": string;
  readonly "drain-tls-key-file": string;
  readonly "drain-client-ca-file": string;
}

/**
 * The files of the drain listener; undefined: plain HTTP, on a loopback address alone.
 *
 * @throws Error if some files are missing, or all of them on an address that is not loopback.
 */
export function drainTlsFiles(values: Values, host: string | undefined): CertificateFiles | undefined {
  const files = {
    certificate: values["drain-tls-cert-file"],
    key: values["drain-tls-key-file"],
    clientAuthority: values["drain-client-ca-file"],
  };
  const given = Object.values(files).filter(Boolean).length;
  if (given === 3) return files;
  if (given > 0) {
    throw new Error(
      "--drain-tls-cert-file, --drain-tls-key-file and --drain-client-ca-file must be set all together, or not at all",
    );
  }
  const isLoopback = host !== undefined && (host.startsWith("127.") || host === "::1" || host === "localhost");
  if (isLoopback) return undefined;
  throw new Error("--drain-bind-address needs certificates, unless it is a loopback address");
}
