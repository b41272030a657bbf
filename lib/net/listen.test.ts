import { createServer } from "node:net";
import { expect, it } from "vitest";
import { onUnexpectedError } from "../guard/guard.ts";
import { listen } from "./listen.ts";

it("a server returns its address, and fails if the port is in use", async () => {
  await using first = createServer();
  const { address, port } = await listen(first, { host: "127.0.0.1", port: 0 });
  expect(address).toBe("127.0.0.1");
  expect(port).toBeGreaterThan(0);
  await expect(listen(createServer(), { host: "127.0.0.1", port })).rejects.toThrow("EADDRINUSE");
});

it("a server that could not accept some connections continues, and each is reported", async () => {
  const places: string[] = [];
  using _reports = onUnexpectedError((where) => places.push(where));
  await using server = createServer();
  await listen(server, { host: "127.0.0.1", port: 0 });
  // Node's error without a free file descriptor.
  for (let i = 0; i < 3; i += 1) server.emit("error", new Error("accept EMFILE"));
  expect(places).toEqual(["accept", "accept", "accept"]);
  expect(server.listening).toBe(true);
});
