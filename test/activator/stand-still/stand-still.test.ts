import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { dialled, openBackend } from "../../support/proxy-path.ts";

const request = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
const response = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
/** The limits of the process, and a little more. */
const longerMs = 2_700;

/** A client, and a front in a process of its own. */
async function openFront(onRequest: (socket: Socket) => void) {
  await using opened = new AsyncDisposableStack();
  const backend = opened.use(await openBackend((socket) => socket.on("data", () => onRequest(socket))));
  const child = opened.adopt(fork("test/activator/stand-still/front-process.ts", [String(backend.port)]), (process) => {
    process.kill("SIGKILL");
  });
  const { port } = await toldBy(child);
  const client = opened.adopt(await dialled(port), (socket) => void socket.destroy());
  const heard = { text: "" };
  client.on("data", (bytes: Buffer) => (heard.text += bytes.toString("latin1")));
  await eventually(async () => {
    child.send("tell");
    return (await toldBy(child)).opened === 1;
  });
  const closing = opened.move();
  return { child, client, heard, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

async function toldBy(child: ChildProcess): Promise<{ readonly port: number; readonly opened: number }> {
  const [told] = await once(child, "message");
  return told;
}

/** The process stands still for longer than its limits, and something happens at once. */
async function standStill(child: ChildProcess, happens: () => void): Promise<void> {
  child.send("stop");
  await toldBy(child); // it reads nothing more before it stops
  happens();
  await delay(longerMs);
  child.kill("SIGCONT");
}

it("a head that came while the process stood still is in time", async () => {
  await using front = await openFront((socket) => socket.write(response));
  const { child, client, heard } = front;
  await standStill(child, () => client.write(request));
  await eventually(() => heard.text !== "");
  expect(heard.text).toMatch(/^HTTP\/1.1 200 /);
});

it("a response that came while the process stood still is in time", async () => {
  const asked: Socket[] = [];
  await using front = await openFront((socket) => asked.push(socket));
  const { child, client, heard } = front;
  client.write(request);
  await eventually(() => asked.length === 1);
  await standStill(child, () => asked[0]?.write(response));
  await eventually(() => heard.text !== "");
  expect(heard.text).toMatch(/^HTTP\/1.1 200 /);
});
