import { describe, expect, it } from "vitest";
import { httpProgram, openActivatorWorld, rawConnection } from "../../../test/support/labs/activator-world.ts";

const host = "Host: nova.default.sandbox.localhost\r\n";

describe("an upgraded connection", () => {
  it("relays bytes both ways, with early data, and forwards each end alone", async () => {
    await using world = await openActivatorWorld();
    const program = httpProgram(
      () => {},
      (server) => {
        server.on("upgrade", (request, socket, early) => {
          socket.write(
            `HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\nX-A: 1\r\n\r\nhello `,
          );
          socket.write(early);
          socket.on("data", (chunk) => socket.write(chunk));
          socket.on("end", () => socket.end(" bye"));
        });
      },
    );
    await world.asleep("nova", program);
    using connection = await rawConnection(world.activator);
    connection.send(`GET /ws HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: anything\r\n\r\nearly `);
    await connection.until("early");
    connection.send(Buffer.from([0, 255, 10, 13]));
    connection.socket.end();
    expect(await connection.closed()).toBe(
      "HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: anything\r\nX-A: 1\r\n\r\nhello early \u0000\u00ff\n\r bye",
    );
  });

  it("that the sandbox refuses gets the sandbox's response", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram((_, response) => response.writeHead(403).end("no sockets here")),
    );
    using connection = await rawConnection(world.activator);
    connection.send(`GET /ws HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 403 Forbidden\r\n[\s\S]*no sockets here/);
  });
});
