import type { IncomingMessage } from "node:http";
import { connect } from "node:http2";
import { expect, it } from "vitest";
import { observed } from "../support/drain-questions.ts";
import { eventually } from "../support/eventually.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../support/labs/activator-world.ts";

const host = "Host: nova.default.sandbox.localhost";
const length = 1_000_000;
const post = `POST / HTTP/1.1\r\n${host}\r\nContent-Length: ${length}\r\n\r\n`;
const inFlight = async (world: ActivatorWorld) => (await observed(world)).inFlight;

/** A sandbox that answers first, and then does what the test says. */
async function given(afterwards: (request: IncomingMessage) => void) {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await openActivatorWorld(["--drain-bind-address=127.0.0.1:0"]));
  const got = { bytes: 0 };
  const program = httpProgram((request, response) => {
    request.on("data", (bytes: Buffer) => (got.bytes += bytes.length)).on("error", () => {});
    response.writeHead(202, { "Content-Length": 5 }).end("early", () => afterwards(request));
  });
  await world.awake("nova", program);
  const client = opened.use(await rawConnection(world.activator));
  client.send(post);
  await client.until("early");
  const closing = opened.move();
  return { world, client, got, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

it("an upload is in flight after its response until the sandbox has all of it", async () => {
  await using lab = await given(() => {});
  lab.client.send("x".repeat(length - 1));
  await eventually(() => lab.got.bytes >= length - 1);
  expect(await inFlight(lab.world)).toBe(1);
  lab.client.send("x");
  await eventually(async () => (await inFlight(lab.world)) === 0);
  expect(lab.got.bytes).toBe(length);
});

it("an upload that its sandbox no longer reads keeps no sandbox awake while its rest is dropped", async () => {
  await using lab = await given((request) => void request.socket.destroy());
  let sent = 0;
  await eventually(async () => {
    lab.client.send("x".repeat(1_000)); // the second write to a closed connection fails
    sent += 1_000;
    return (await inFlight(lab.world)) === 0;
  });
  // Its client sends on, and its connection serves the next request.
  lab.client.send(`${"x".repeat(length - sent)}POST / HTTP/1.1\r\n${host}\r\nContent-Length: 1\r\n\r\n`);
  await eventually(() => lab.client.received.split("early").length === 3);
});

it("a request that failed keeps no sandbox awake while its client does not read the error", async () => {
  await using world = await openActivatorWorld(["--drain-bind-address=127.0.0.1:0", "--http2"]);
  await world.awake(
    "nova",
    httpProgram((request) => void request.socket.destroy()),
  );
  const { proxyPort } = world.activator;
  const client = connect(`http://127.0.0.1:${proxyPort}`, { settings: { initialWindowSize: 0 } });
  using _client = { [Symbol.dispose]: () => client.destroy() };
  const stream = client.request({ ":authority": "nova.default.sandbox.localhost", ":path": "/" }).on("error", () => {});
  const heard = { status: 0, bytes: 0 };
  stream.on("response", (head) => (heard.status = Number(head[":status"])));
  stream.on("data", (bytes: Buffer) => (heard.bytes += bytes.length));
  await eventually(() => heard.status !== 0);
  expect(heard.status).toBe(502);
  await eventually(async () => (await inFlight(world)) === 0);
  expect(heard.bytes).toBe(0); // the error waits for the client
});
