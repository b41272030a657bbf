import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { interceptCalls } from "../support/fakes/intercepted-client.ts";
import { httpProgram, openActivatorWorld, rawConnection } from "../support/labs/activator-world.ts";

const host = "Host: nova.default.sandbox.localhost";
const here = httpProgram((_, response) => response.end("here"));

it.each(["CONNECT", "TRACE"])("a %s request is rejected before its sandbox is woken", async (method) => {
  await using world = await openActivatorWorld();
  await world.asleep("nova", here);
  using client = await rawConnection(world.activator);
  const target = method === "CONNECT" ? "nova.default.sandbox.localhost:80" : "/";
  client.send(`${method} ${target} HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`);
  expect(await client.closed()).toMatch(/^HTTP\/1.1 405 [\s\S]*X-Rouse-Reason: MethodNotAllowed/);
  expect((await world.sandbox("nova")).spec.operatingMode).toBe("Suspended");
});

it("a request with too large a Content-Length is rejected before its sandbox is woken", async () => {
  await using world = await openActivatorWorld(["--max-request-body-bytes=10"]);
  await world.asleep("nova", here);
  using client = await rawConnection(world.activator);
  client.send(`POST / HTTP/1.1\r\n${host}\r\nContent-Length: 11\r\n\r\n`);
  expect(await client.closed()).toMatch(/^HTTP\/1.1 413 [\s\S]*X-Rouse-Reason: BodyTooLarge/);
  expect((await world.sandbox("nova")).spec.operatingMode).toBe("Suspended");
});

it("a request whose headers contradict its host is rejected before its sandbox is woken", async () => {
  await using world = await openActivatorWorld();
  await world.asleep("nova", here);
  using client = await rawConnection(world.activator);
  client.send(`GET / HTTP/1.1\r\n${host}\r\nX-Sandbox-ID: vega\r\nConnection: close\r\n\r\n`);
  expect(await client.closed()).toMatch(/^HTTP\/1.1 400 [\s\S]*X-Rouse-Reason: ConflictingHeaders/);
  expect((await world.sandbox("nova")).spec.operatingMode).toBe("Suspended");
});

it("a request whose client left while it was authorized is not sent on an idle connection either", async () => {
  const reviews: (() => void)[] = [];
  const good = { status: { authenticated: true, user: {} } };
  await using world = await openActivatorWorld(
    ["--authz-mode=tokenreview"],
    {},
    {
      clientOf: ({ client }) =>
        interceptCalls(client, ({ kind }, proceed) => {
          if (kind !== "TokenReview") return proceed();
          return new Promise((resolve) => reviews.push(() => resolve(good)));
        }),
    },
  );
  const seen: (string | undefined)[] = [];
  await world.awake(
    "nova",
    httpProgram(({ url }, response) => {
      seen.push(url);
      response.end("here");
    }),
  );
  const ask = async (path: string, token: string) => {
    const client = await rawConnection(world.activator);
    client.send(`GET ${path} HTTP/1.1\r\n${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    return client;
  };
  using first = await ask("/first", "first");
  await eventually(() => reviews.length === 1);
  reviews[0]?.();
  await first.until("here");
  using leaving = await ask("/leaves", "second");
  await eventually(() => reviews.length === 2);
  leaving.socket.resetAndDestroy();
  const open = async () => /^rouse_activator_connections (\d+)$/m.exec(await world.registry.metrics())?.[1];
  await eventually(async () => (await open()) === "1"); // the activator has seen that the client left
  reviews[1]?.();
  using last = await ask("/last", "first"); // the sandbox is known by now
  await last.until("here");
  expect(seen).toEqual(["/first", "/last"]);
});
