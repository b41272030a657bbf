import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

it.each([
  { how: "ends", leave: (client: Socket) => void client.end() },
  { how: "is reset", leave: (client: Socket) => void client.resetAndDestroy() },
])("a sandbox sees a reset, and no end, of an upload whose client $how in the middle", async ({ leave }) => {
  const seen = { heard: "", ending: "" };
  await using backend = await openBackend((socket) => {
    socket.on("data", (bytes) => (seen.heard += bytes.toString("latin1"))).on("end", () => (seen.ending += "end"));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => (seen.ending += code));
  });
  await using path = await openProxyPath(backend.port);
  const client = await dialled(path.port);
  client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\na part");
  await eventually(() => seen.heard.endsWith("a part"));
  leave(client);
  await eventually(() => seen.ending !== "");
  expect(seen.ending).toBe("ECONNRESET");
  client.destroy();
});
