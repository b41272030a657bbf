import { type BindAddress, parseBindAddress } from "../lib/bind-address.ts";
import type { CertificateFiles } from "../lib/certificate-files.ts";
import type { FlagValues } from "../lib/flags.ts";
import { ConfigError } from "./config-error.ts";
import { type activatorFlags, clientCertificates } from "./flags.ts";

/** Whether clients show a certificate. `optional`: one that is shown must be good. */
export type ClientCertificates = (typeof clientCertificates)[number];

/** Where sandboxes are reached over TLS. */
export interface HttpsConfig extends BindAddress {
  readonly files: CertificateFiles;
  readonly clients: ClientCertificates;
  /** Of the certificates of clients; a path, and given unless `clients` is off. */
  readonly clientAuthorityFile: string | undefined;
}

/** @throws ConfigError for settings that do not fit each other, Error for an address that is none. */
export function httpsConfigOf(values: FlagValues<typeof activatorFlags>): HttpsConfig | undefined {
  const address = parseBindAddress(values["https-bind-address"]);
  const clients = clientCertificates.find((mode) => mode === values["mtls-mode"]) ?? "off";
  if (!address) {
    if (clients !== "off") throw new ConfigError(`--mtls-mode=${clients} needs --https-bind-address`);
    return undefined;
  }
  const [certificate, key] = [values["tls-cert-file"], values["tls-key-file"]];
  if (!certificate || !key) throw new ConfigError("--https-bind-address needs --tls-cert-file and --tls-key-file");
  const clientAuthorityFile = values["tls-client-ca-file"] || undefined;
  if (clients !== "off" && !clientAuthorityFile) {
    throw new ConfigError(`--mtls-mode=${clients} needs --tls-client-ca-file`);
  }
  return { ...address, files: { certificate, key }, clients, clientAuthorityFile };
}
