import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, it } from "vitest";
import { openProxyPath, say } from "../../../test/support/proxy-path.ts";

/** A program that authenticates connections, as servers do with NTLM. It greets the user of the connection. */
async function openAuthenticating(challenge: string) {
  const users = new WeakMap<Socket, string>();
  const server = createServer((request: IncomingMessage, response) => {
    const [, user] = /^(?:ntlm|negotiate) (\w+)$/i.exec(request.headers.authorization ?? "") ?? [];
    if (user) users.set(request.socket, user);
    const known = users.get(request.socket);
    if (known === undefined) response.writeHead(401, { "WWW-Authenticate": challenge });
    response.end(known ?? `nobody on ${request.socket.remotePort}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const ask = async (port: number, fields = "") => {
  const answer = await say(port, `GET / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\n${fields}\r\n`, "end");
  return answer.slice(answer.indexOf("\r\n\r\n") + 4);
};

it.each(["NTLM alice", "Negotiate alice", "negotiate alice"])(
  "a connection that %j has authenticated serves no other client",
  async (credential) => {
    await using sandbox = await openAuthenticating("Basic");
    await using path = await openProxyPath(sandbox.port);
    expect(await ask(path.port, `Authorization: ${credential}\r\n`)).toBe("alice");
    expect(await ask(path.port)).toMatch(/nobody on/);
  },
);

it.each([
  { challenge: "NTLM", isKept: false },
  { challenge: 'Basic realm="x", Negotiate', isKept: false },
  { challenge: "Negotiate abc==", isKept: false },
  { challenge: 'Basic realm="ntlm"', isKept: true },
  { challenge: "NTLMish", isKept: true },
])("a connection with the challenge $challenge is kept for others: $isKept", async ({ challenge, isKept }) => {
  await using sandbox = await openAuthenticating(challenge);
  await using path = await openProxyPath(sandbox.port);
  const [first, second] = [await ask(path.port), await ask(path.port, "Authorization: Bearer ntlm\r\n")];
  expect(second === first).toBe(isKept);
});
