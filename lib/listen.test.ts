import { createServer } from "node:net";
import { expect, it } from "vitest";
import { listen } from "./listen.ts";

it("a server says where it listens, and that it cannot where another does", async () => {
  await using first = createServer();
  const { address, port } = await listen(first, { host: "127.0.0.1", port: 0 });
  expect(address).toBe("127.0.0.1");
  expect(port).toBeGreaterThan(0);
  await expect(listen(createServer(), { host: "127.0.0.1", port })).rejects.toThrow("EADDRINUSE");
});
