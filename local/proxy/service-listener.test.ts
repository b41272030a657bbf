import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { plainAcceptedSocket } from "../../activator/socket/wire-socket.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { ProxiedConnections } from "./service-listener.ts";

it.each([
  ["a port that does not exist", { host: "127.0.0.1", port: 65_536 }],
  ["a host that cannot be looked up", { host: "a\u0000b", port: 80 }],
])("a target with %s resets its connection alone, and frees its place", async (_what, target) => {
  using connections = new ProxiedConnections(systemClock, 1);
  const server = createServer(plainAcceptedSocket, (accepted) => connections.proxy(accepted, target));
  await once(server.listen(0, "127.0.0.1"), "listening");
  for (let turn = 0; turn < 2; turn += 1) {
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [error] = await once(client, "error");
    expect(error).toMatchObject({ code: "ECONNRESET" });
    await expect.poll(() => connections.size).toBe(0);
  }
  server.close();
});
