import type { webcrypto } from "node:crypto";
import type * as X509 from "@peculiar/x509";

const { subtle } = globalThis.crypto;

/** Its two hundred files are a quarter of what the controller would load, and a program with valid certificates makes none. */
async function loadLibrary(): Promise<typeof X509> {
  await import("reflect-metadata"); // the library's dependency injection needs it before it is loaded
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(globalThis.crypto);
  return x509;
}

/** A certificate and its private key, both PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface ServerCertificateRequest {
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly validity: Validity;
}

export interface ClientCertificateRequest {
  /** For a Kubernetes API server: the user. */
  readonly commonName: string;
  /** For a Kubernetes API server: the groups. */
  readonly organizations: readonly string[];
  readonly validity: Validity;
}

// P-256 with SHA-256: supported by every TLS client of the last ten years, and fast to generate.
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Creates a CA that can only sign certificates. */
export async function makeAuthority(commonName: string, validity: Validity): Promise<CertificatePair> {
  const x509 = await loadLibrary();
  const keys = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${commonName}`,
    keys,
    signingAlgorithm: algorithm,
    serialNumber: serialNumber(),
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString("pem"), key: await exportKey(keys.privateKey) };
}

/** Creates a server certificate for the given names, signed by `authority`. */
export async function makeServerCertificate(
  authority: CertificatePair,
  request: ServerCertificateRequest,
): Promise<CertificatePair> {
  const x509 = await loadLibrary();
  return signed(authority, [{ CN: [request.commonName] }], request.validity, [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([
      ...request.dnsNames.map((value) => ({ type: "dns" as const, value })),
      ...request.ipAddresses.map((value) => ({ type: "ip" as const, value })),
    ]),
  ]);
}

/** Creates a client certificate, signed by `authority`. */
export async function makeClientCertificate(
  authority: CertificatePair,
  request: ClientCertificateRequest,
): Promise<CertificatePair> {
  const x509 = await loadLibrary();
  const subject = [...request.organizations.map((name) => ({ O: [name] })), { CN: [request.commonName] }];
  return signed(authority, subject, request.validity, [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
  ]);
}

async function signed(
  authority: CertificatePair,
  subject: X509.JsonName,
  validity: Validity,
  extensions: readonly X509.Extension[],
): Promise<CertificatePair> {
  const x509 = await loadLibrary();
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(authority.key), algorithm, false, [
    "sign",
  ]);
  const keys = await subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    serialNumber: serialNumber(),
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      ...extensions,
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { certificate: certificate.toString("pem"), key: await exportKey(keys.privateKey) };
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const { PemConverter } = await loadLibrary();
  return PemConverter.encode(await subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}

/** Sixteen random bytes in hex; the first bit is off because a serial number is positive (RFC 5280, 4.1.2.2). */
function serialNumber(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString("hex");
}
