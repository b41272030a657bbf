import type { CertificateFiles } from "../../lib/certificates/certificate-files.ts";
import type { FlagValues } from "../../lib/flags/flags.ts";
import { type BindAddress, parseBindAddress } from "../../lib/net/bind-address.ts";
import { ConfigError } from "./config-error.ts";
import { type activatorFlags, clientCertificates } from "./flags.ts";

/** Whether clients present a certificate. `optional`: a certificate that is presented must be valid. */
export type ClientCertificates = (typeof clientCertificates)[number];

/** The HTTPS listener. */
export interface HttpsConfig extends BindAddress {
  readonly files: CertificateFiles;
  readonly clients: ClientCertificates;
  /** The path of the client CA. Set unless `clients` is off. */
  readonly clientAuthorityFile: string | undefined;
}

/** @throws ConfigError for settings that contradict each other, Error for a malformed address. */
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
