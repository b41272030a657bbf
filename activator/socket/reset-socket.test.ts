import { once } from "node:events";
import { type AddressInfo, createServer as createPlainServer, connect as plainConnect, Socket } from "node:net";
import { connect, createServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { resetSocket } from "./reset-socket.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("of the tests", validity);
const { certificate: cert, key } = await makeServerCertificate(authority, {
  ...{ commonName: "here", dnsNames: [], ipAddresses: ["127.0.0.1"], validity },
});

const reset = (socket: Socket) => {
  socket.on("error", () => {});
  socket.write("a part", () => resetSocket(socket));
};

/** What a client sees behind what it received. */
async function seenEnd(client: Socket): Promise<string> {
  const error = once(client, "error").then(([{ code }]) => String(code));
  const end = once(client.resume(), "end").then(() => "an end");
  const seen = await Promise.race([error, end]);
  client.destroy();
  return seen;
}

describe("a reset", () => {
  it("reaches the client of a plain connection", async () => {
    const server = createPlainServer(reset).listen(0, "127.0.0.1");
    await once(server, "listening");
    expect(await seenEnd(plainConnect((server.address() as AddressInfo).port, "127.0.0.1"))).toBe("ECONNRESET");
    server.close();
  });

  it("reaches the client of a TLS connection, where Node has no reset", async () => {
    const server = createServer({ cert, key }, reset).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    expect(await seenEnd(connect({ port, host: "127.0.0.1", ca: authority.certificate }))).toBe("ECONNRESET");
    server.close();
  });

  it("of a socket without a connection closes it, and is no error", async () => {
    const socket = new Socket();
    const closed = once(socket, "close");
    resetSocket(socket);
    await closed; // an error would come before
  });

  it("closes a connection whose end is being sent, which the system refuses to reset", async () => {
    const closed = Promise.withResolvers<void>();
    const server = createPlainServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", closed.reject).once("close", () => closed.resolve());
      socket.end("all there is");
      resetSocket(socket);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = plainConnect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
    await closed.promise;
    client.destroy();
    server.close();
  });
});
