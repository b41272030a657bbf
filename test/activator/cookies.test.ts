import { once } from "node:events";
import { connect } from "node:http2";
import { expect, it } from "vitest";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../support/labs/activator-world.ts";

const host = "nova.default.sandbox.localhost";
const wide = "b=2; Domain=.sandbox.localhost; Path=/";
const cookies = ["a=1; Path=/", wide, "c=3; Secure; domain=default.sandbox.localhost", ";Domain=sandbox.localhost"];
const ownCookies = ["a=1; Path=/", "b=2; Path=/", "c=3; Secure"];

/** It answers each request, also an upgrade, with the cookies among other fields. */
const program = httpProgram(
  (_, response) =>
    response.setHeader("X-Before", "1").setHeader("Set-Cookie", cookies).setHeader("X-After", "2").end("ok"),
  (server) => {
    server.on("upgrade", (_, socket) => {
      const lines = cookies.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join("");
      socket.end(`HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines}X-After: 2\r\n\r\n`);
    });
  },
);

async function awake(): Promise<ActivatorWorld> {
  const world = await openActivatorWorld(["--http2"]);
  await world.awake("nova", program);
  return world;
}

/** The values of `Set-Cookie`, and the fields around them. */
const cookiesIn = (head: string) => [...head.matchAll(/^set-cookie: (.*)\r$/gim)].map(([, value]) => value);

it("a cookie for the common domain of all sandboxes becomes one of its sandbox alone", async () => {
  await using world = await awake();
  using client = await rawConnection(world.activator);
  client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const heard = await client.closed();
  expect(cookiesIn(heard)).toEqual(ownCookies);
  expect(heard).toMatch(/X-Before: 1\r\n[\s\S]*X-After: 2\r\n[\s\S]*\r\n\r\nok$/);
});

it("a cookie of an upgrade becomes one of its sandbox alone too", async () => {
  await using world = await awake();
  using client = await rawConnection(world.activator);
  client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  const heard = await client.until("\r\n\r\n");
  expect(cookiesIn(heard)).toEqual(ownCookies);
  expect(heard).toContain("X-After: 2\r\n");
});

it("a cookie over HTTP/2 becomes one of its sandbox alone too", async () => {
  await using world = await awake();
  const session = connect(`http://127.0.0.1:${world.activator.proxyPort}`);
  const stream = session.request({ ":path": "/", ":authority": host });
  const [headers] = await once(stream, "response");
  expect(headers["set-cookie"]).toEqual(ownCookies);
  session.destroy();
});

it("a cookie is as the sandbox sent it if headers named the sandbox", async () => {
  await using world = await awake();
  const headers = { "X-Sandbox-ID": "nova" };
  const response = await fetch(world.activator.proxyUrl, { headers });
  expect(response.headers.getSetCookie()).toEqual(cookies);
});
