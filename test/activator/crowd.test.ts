import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { eventually } from "../support/eventually.ts";
import { heldRequests, openActivatorWorld, rawConnection, sandboxPort } from "../support/labs/activator-world.ts";

const host = "Host: nova.default.sandbox.localhost";

/** A port that answers `count` requests, each on a new connection, and then closes. */
function openPort(podIp: string, count: number, seen: string[]) {
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    response.writeHead(200, { Connection: "close", "Content-Length": 2 }).end("ok");
    answered += 1;
    if (answered === count) server.close();
  });
  let answered = 0;
  server.listen({ port: sandboxPort, host: podIp, backlog: 511 });
  return { closed: once(server, "close"), [Symbol.dispose]: () => void server.close() };
}

describe("many held requests", () => {
  it("are each served exactly once while clients leave and the port opens and closes", async () => {
    await using world = await openActivatorWorld();
    await world.awake("nova");
    const clients = await Promise.all(Array.from({ length: 240 }, () => rawConnection(world.activator)));
    for (const [at, client] of clients.entries()) {
      client.send(`POST /${at} HTTP/1.1\r\n${host}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi`);
    }
    await eventually(async () => (await heldRequests(world)) === clients.length);
    const leaving = clients.filter((_, at) => at % 4 === 1);
    const staying = clients.filter((_, at) => at % 4 !== 1);
    for (const [at, { socket }] of leaving.entries()) {
      if (at % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
    await eventually(async () => (await heldRequests(world)) === staying.length);
    const { status } = await world.api.client.get(podType, { namespace: "default", name: "nova" });
    const podIp = status?.podIP ?? "";
    const seen: string[] = [];
    const answered = Promise.all(staying.map((client) => client.closed()));
    for (const count of [1, 40, Number.POSITIVE_INFINITY]) {
      using port = openPort(podIp, count, seen);
      await Promise.race([port.closed, answered]);
    }
    const answers = await answered;
    // A request on a connection that the port had not accepted when it closed gets an error. Nothing is sent twice.
    const lost = answers.filter((answer) => /^HTTP\/1.1 502 [\s\S]*ResponseLost/.test(answer));
    const good = answers.filter((answer) => /^HTTP\/1.1 200 [\s\S]*\r\n\r\nok$/.test(answer));
    expect(good.length + lost.length).toBe(staying.length);
    expect(seen).toHaveLength(good.length);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((url) => Number(url.slice(1)) % 4 === 1)).toEqual([]);
    expect(await heldRequests(world)).toBe(0);
  }, 30_000);
});
