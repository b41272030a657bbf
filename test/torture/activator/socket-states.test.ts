import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { kernelQueues, ownSockets } from "./socket-states.ts";

it("the states of sockets show a connection that its side does not read, and the bytes that wait for it", async () => {
  const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect(port, "127.0.0.1");
  const [[accepted]] = await Promise.all([once(server, "connection"), once(client, "connect")]);
  client.write("twelve bytes");
  const here = `127.0.0.1:${port} to 127.0.0.1:${client.localPort}`;
  await eventually(() => kernelQueues().includes(`${here}: 0 bytes not acknowledged, 12 not read`));
  expect(ownSockets().find((line) => line.startsWith(here))).toContain("reading false");
  client.destroy();
  accepted.destroy();
  server.close();
});
