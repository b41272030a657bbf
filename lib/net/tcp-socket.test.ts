import { once } from "node:events";
import { Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { expect, it } from "vitest";
import { makeAuthority, makeServerCertificate } from "../certificates/certificates.ts";
import { listen } from "./listen.ts";
import { tcpSocketOf } from "./tcp-socket.ts";

const here = { host: "127.0.0.1", port: 0 };
const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("an authority", validity);
const names = { commonName: "here", dnsNames: ["localhost"], ipAddresses: [] };
const { certificate: cert, key } = await makeServerCertificate(authority, { ...names, validity });

it("finds the TCP socket below a TLS socket, also after both are closed", async () => {
  await using server = createTlsServer({ cert, key });
  const { port } = await listen(server, here);
  const accepted = once(server, "connection");
  const secured = once(server, "secureConnection");
  const client = connectTls({ ...here, port, rejectUnauthorized: false }).on("error", () => {});
  const [raw]: Socket[] = await accepted;
  const [above]: Socket[] = await secured;
  if (!above) throw new Error("no TLS socket");
  expect(tcpSocketOf(above)).toBe(raw);
  expect(above).not.toBe(raw);
  client.destroy();
  await once(above.resume(), "close");
  expect(tcpSocketOf(above)).toBe(raw);
});

it("a socket without TLS is the TCP socket itself", () => {
  const socket = new Socket();
  expect(tcpSocketOf(socket)).toBe(socket);
});
