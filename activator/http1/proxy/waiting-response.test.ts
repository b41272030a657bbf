import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const begin = "x".repeat(20_000); // more than a common read: the next one goes into a buffer of its own
const rest = "y".repeat(30_000); // one read, written to the client from where it lies

/** A sandbox that answers a POST before it reads its body. */
async function openSandbox() {
  const seen = { connections: [] as Socket[], text: "" };
  const backend = await openBackend((socket) => {
    seen.connections.push(socket);
    socket.on("end", () => socket.end());
    socket.on("data", (bytes: Buffer) => {
      const text = bytes.toString("latin1");
      seen.text += text;
      if (text.includes("GET /")) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext");
      if (!text.includes("POST /")) return;
      const length = `Content-Length: ${begin.length + rest.length}`;
      socket.write(`HTTP/1.1 202 Later\r\nKeep-Alive: timeout=60\r\n${length}\r\n\r\n${begin}`);
    });
  });
  return { seen, backend };
}

async function connected(port: number) {
  const socket = await dialled(port);
  const heard = { text: "" };
  socket.on("data", (bytes: Buffer) => (heard.text += bytes.toString("latin1")));
  return { socket, heard };
}

it("a response that waits for its slow client delays no other client of the sandbox", async () => {
  const { seen, backend } = await openSandbox();
  await using _backend = backend;
  await using path = await openProxyPath(backend.port);
  const slow = await connected(path.port);
  slow.socket.write("POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 10\r\n\r\nfirst");
  await eventually(() => slow.heard.text.endsWith(begin));
  const towardsSlow = path.sockets?.client;
  towardsSlow?.cork(); // as if the client took no more
  seen.connections[0]?.write(rest);
  await eventually(() => path.sockets?.client.writableLength === rest.length);
  slow.socket.write("last.");
  await eventually(() => seen.text.endsWith("firstlast."));

  const other = await connected(path.port);
  other.socket.write("GET / HTTP/1.1\r\nHost: nova\r\n\r\n");
  await eventually(() => other.heard.text.endsWith("next"));
  expect(seen.connections.length).toBe(2);

  towardsSlow?.uncork();
  await eventually(() => slow.heard.text.endsWith(`${begin}${rest}`));
  for (const { socket } of [slow, other]) socket.destroy();
  await path.empty();
});
