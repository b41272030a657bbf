import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../lib/time/clock.ts";
import { lastUse, observed, promised } from "../support/drain-questions.ts";
import { eventually } from "../support/eventually.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../support/labs/activator-world.ts";

const host = "Host: nova.default.sandbox.localhost";
const open = (...flags: readonly string[]) => openActivatorWorld(["--drain-bind-address=127.0.0.1:0", ...flags]);

/** A world whose sandbox `nova` gets requests and answers as the test says. */
async function given(...flags: readonly string[]) {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await open(...flags));
  const asked: { readonly request: IncomingMessage; readonly response: ServerResponse }[] = [];
  await world.awake(
    "nova",
    httpProgram((request, response) => void asked.push({ request, response })),
  );
  const client = opened.use(await rawConnection(world.activator));
  const closing = opened.move();
  return { world, asked, client, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

const isInFlight = async (world: ActivatorWorld) => (await observed(world)).inFlight === 1;

/** Waits some milliseconds after the start of a request, so that its start and its end differ. */
async function aMomentLater(): Promise<number> {
  const sinceMs = systemClock.ticksMs();
  await eventually(() => systemClock.ticksMs() > sinceMs + 50);
  return systemClock.ticksMs();
}

async function expectUsedSince(world: ActivatorWorld, sinceMs: number): Promise<void> {
  await eventually(async () => !(await isInFlight(world)));
  expect((await lastUse(world))?.latestMs).toBeGreaterThanOrEqual(sinceMs);
}

describe("a request that was sent and gets no response", () => {
  it("was activity until the activator's 504", async () => {
    await using lab = await given();
    const { world, asked, client } = lab;
    // The limit is for the whole request, so the activator must know before it that the Pod accepts.
    client.send(`GET / HTTP/1.1\r\n${host}\r\n\r\n`);
    await eventually(() => asked.length === 1);
    asked[0]?.response.end("warm");
    await client.until("warm");
    client.send(`POST /run HTTP/1.1\r\n${host}\r\nX-Sandbox-Timeout: 2\r\nContent-Length: 0\r\n\r\n`);
    await eventually(() => asked.length === 2);
    expect(await isInFlight(world)).toBe(true);
    const sinceMs = await aMomentLater();
    await client.until("HTTP/1.1 504");
    await expectUsedSince(world, sinceMs);
  });

  it("was activity until its client reset the connection", async () => {
    await using lab = await given();
    const { world, asked, client } = lab;
    client.send(`POST /run HTTP/1.1\r\n${host}\r\nContent-Length: 0\r\n\r\n`);
    await eventually(() => asked.length === 1);
    const sinceMs = await aMomentLater();
    client.socket.resetAndDestroy();
    await expectUsedSince(world, sinceMs);
  });

  it("was activity until the sandbox cut the connection", async () => {
    await using lab = await given();
    const { world, asked, client } = lab;
    client.send(`POST /run HTTP/1.1\r\n${host}\r\nContent-Length: 0\r\n\r\n`);
    await eventually(() => asked.length === 1);
    const sinceMs = await aMomentLater();
    asked[0]?.request.socket.resetAndDestroy();
    await client.until("HTTP/1.1 502");
    await expectUsedSince(world, sinceMs);
  });

  it("was no activity if its body was too large to send", async () => {
    await using lab = await given("--max-request-body-bytes=1000");
    const { world, asked, client } = lab;
    const chunk = `800\r\n${"x".repeat(2_048)}\r\n`;
    client.send(`POST /run HTTP/1.1\r\n${host}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`);
    await client.until("HTTP/1.1 413");
    expect(asked).toEqual([]);
    expect(await lastUse(world)).toBeUndefined();
  });
});

describe("an event stream", () => {
  const events = { "Content-Type": "text/event-stream" };

  it.each(["POST", "PUT", "DELETE"])("that answers a %s is a request in flight until it ends", async (method) => {
    await using lab = await given();
    const { world, asked, client } = lab;
    client.send(`${method} /tool HTTP/1.1\r\n${host}\r\nContent-Length: 0\r\n\r\n`);
    await eventually(() => asked.length === 1);
    asked[0]?.response.writeHead(200, events).write("data: begun\n\n");
    await client.until("data: begun");
    expect(await isInFlight(world)).toBe(true);
    expect(await promised(world)).toEqual({ inFlight: 1 });
    const sinceMs = await aMomentLater();
    asked[0]?.response.end("data: result\n\n");
    await client.until("data: result");
    await expectUsedSince(world, sinceMs);
  });

  it("that answers a GET is an open connection", async () => {
    await using lab = await given();
    const { world, asked, client } = lab;
    client.send(`GET /events HTTP/1.1\r\n${host}\r\n\r\n`);
    await eventually(() => asked.length === 1);
    asked[0]?.response.writeHead(200, events).write("data: begun\n\n");
    await client.until("data: begun");
    expect(await isInFlight(world)).toBe(false);
  });
});
