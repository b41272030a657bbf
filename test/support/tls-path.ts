import type { Socket } from "node:net";
import { connect } from "node:tls";
import { CurrentCertificate } from "../../lib/certificates/certificate-source.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("of the tests", validity);
const pair = await makeServerCertificate(authority, {
  ...{ commonName: "here", dnsNames: ["nova"], ipAddresses: ["127.0.0.1"], validity },
});

/** The TLS options of a front whose clients come by `dialledTls`. */
export const tls = { certificates: new CurrentCertificate(pair), clients: "off" } as const;

/** As `dialled`, encrypted, and by that protocol. Resolves with a closed socket if there is no connection. */
export const dialledTls = (port: number, protocol = "http/1.1"): Promise<Socket> =>
  new Promise((resolve) => {
    const place = { port, host: "127.0.0.1", servername: "nova", ca: authority.certificate, allowHalfOpen: true };
    const socket = connect({ ...place, ALPNProtocols: [protocol] }, () => resolve(socket)).on("error", () => {});
    socket.once("close", () => resolve(socket));
  });
