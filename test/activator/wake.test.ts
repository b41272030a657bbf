import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { httpProgram, openActivatorWorld, rawConnection } from "../support/labs/activator-world.ts";

const read = async (request: IncomingMessage) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

describe("a request to a suspended sandbox", () => {
  it("is held, wakes it, and is answered", async () => {
    await using world = await openActivatorWorld();
    await world.asleep(
      "nova",
      httpProgram((_, response) => response.end("good morning")),
    );
    const { proxyUrl } = world.activator;
    const response = await fetch(proxyUrl, { headers: { "X-Sandbox-ID": "nova" } });
    expect(await response.text()).toBe("good morning");
    expect(world.kubelet.made("nova")).toBe(1);
    const [timeline] = world.wakes;
    expect(timeline?.seen).toBe(0);
    const steps = [timeline?.wakePatched, timeline?.podCreated, timeline?.portAccepted, timeline?.firstByte];
    expect(steps).toEqual(steps.map(() => expect.any(Number)));
    expect([...steps].sort((a = 0, b = 0) => a - b)).toEqual(steps);
  });

  it("arrives exactly once and byte for byte, also with a long body", async () => {
    await using world = await openActivatorWorld();
    const seen: string[] = [];
    const echo = httpProgram(async (request, response) => {
      const body = await read(request);
      seen.push(`${request.method} ${request.url} ${createHash("sha256").update(body).digest("hex")}`);
      response.end(String(body.length));
    });
    await world.asleep("nova", echo);
    const body = randomBytes(5_000_000);
    const { proxyUrl } = world.activator;
    const url = `${proxyUrl}/a%2Fb//c?x=%20y`;
    const response = await fetch(url, { method: "POST", body, headers: { "X-Sandbox-ID": "nova" } });
    expect(await response.text()).toBe("5000000");
    expect(seen).toEqual([`POST /a%2Fb//c?x=%20y ${createHash("sha256").update(body).digest("hex")}`]);
  });

  it("shares its wake with 1,000 others", { timeout: 60_000 }, async () => {
    await using world = await openActivatorWorld();
    let served = 0;
    await world.asleep(
      "nova",
      httpProgram((_, response) => response.end(String(served++))),
    );
    const before = Number((await world.sandbox("nova")).metadata.generation);
    const ask = async () => {
      using connection = await rawConnection(world.activator);
      connection.send("GET / HTTP/1.1\r\nHost: nova.default.sandbox.localhost\r\nConnection: close\r\n\r\n");
      return (await connection.closed()).startsWith("HTTP/1.1 200");
    };
    const answers = await Promise.all(Array.from({ length: 1000 }, ask));
    expect(answers.every(Boolean)).toBe(true);
    expect(served).toBe(1000);
    expect(world.kubelet.made("nova")).toBe(1);
    expect(Number((await world.sandbox("nova")).metadata.generation)).toBe(before + 1);
    expect(world.wakes).toHaveLength(1);
  });
});
