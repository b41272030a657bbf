import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import {
  type Backend,
  dialled,
  openBackend,
  openProxyPath,
  type ProxyPath,
  type ProxyPathOptions,
} from "../../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../../test/support/tls-path.ts";
import { ActivatorError } from "../../failures/errors-for-clients.ts";

const early = "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno";
const unframed = `HTTP/1.0 403 No\r\n\r\n${"n".repeat(100_000)}`;
const post = "POST / HTTP/1.1\r\nHost: nova\r\n";
const piece = Buffer.alloc(65_536, "x");

/** A client that reads only once it has sent everything. */
function senderOn(socket: Socket) {
  let [text, error, over] = ["", "", false];
  socket.pause().on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  socket.on("error", (cause: NodeJS.ErrnoException) => (error = cause.code ?? cause.message));
  for (const event of ["end", "close"]) socket.on(event, () => (over = true));
  return {
    /** Sends 1 MiB. */
    async sendMore(): Promise<void> {
      for (let sent = 0; sent < 16; sent += 1) {
        await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
      }
    },
    /** What has come until the connection ended, and the error that ended it. */
    async hear(): Promise<{ readonly text: string; readonly error: string }> {
      socket.resume();
      await eventually(() => over);
      socket.destroy();
      return { text, error };
    },
  };
}

interface Case {
  readonly what: string;
  readonly request: string;
  readonly status: number;
  readonly options?: ProxyPathOptions;
  /** What the sandbox answers once it has heard anything. */
  readonly answer?: string;
  readonly before?: (path: ProxyPath) => void;
}

const cases: readonly Case[] = [
  { what: "a malformed head", request: "POST / HTTP/1.1\r\nHost : nova\r\n\r\n", status: 400 },
  { what: "a head that is too large", request: `${post}X: ${"x".repeat(70_000)}`, status: 431 },
  { what: "a target that is too long", request: `POST /${"x".repeat(70_000)}`, status: 414 },
  { what: "a head that takes too long", request: post, status: 408, options: { headersTimeoutMs: 200 } },
  { what: "a head for which memory is short", request: post, status: 408, options: { unfinishedHeadBytesMax: 1_000 } },
  { what: "an expectation", request: `${post}Expect: tea\r\nContent-Length: 9999999\r\n\r\n`, status: 417 },
  { what: "a method", request: "CONNECT nova:80 HTTP/1.1\r\nHost: nova:80\r\n\r\n", status: 405 },
  { what: "a malformed body", request: `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, status: 400 },
  {
    what: "a body that grows too large",
    request: `${post}Transfer-Encoding: chunked\r\n\r\n800\r\n${"x".repeat(2_048)}\r\nfffff\r\n`,
    status: 413,
    options: { maxRequestBodyBytes: 1_000 },
  },
  {
    what: "a pause in its body",
    request: `${post}Content-Length: 9999999\r\n\r\nx`,
    status: 408,
    options: { proxyTimeoutMs: 200 },
  },
  { what: "the sandbox, early", request: `${post}Content-Length: 9999999\r\n\r\nx`, status: 403, answer: early },
  {
    what: "the sandbox, early and without a length",
    request: `${post.replace("1.1", "1.0")}Content-Length: 9999999\r\n\r\nx`,
    status: 403,
    answer: unframed,
  },
  {
    what: "the sandbox, early, to a client with many more requests",
    request: `${post}Connection: close\r\nContent-Length: 1\r\n\r\nx${post}Content-Length: 9999999\r\n\r\n`,
    status: 403,
    answer: early,
  },
  {
    what: "the sandbox, early, while the replica exits",
    request: `${post}Content-Length: 9999999\r\n\r\nx`,
    status: 403,
    answer: early,
    before: ({ front }) => front.beginDrain(),
  },
];

async function openPath({ options, answer, before }: Case, isTls: boolean) {
  await using opened = new AsyncDisposableStack();
  const serve = (socket: Socket) => {
    socket.once("data", () => {
      if (answer === undefined) return;
      if (answer === unframed) socket.end(answer);
      else socket.write(answer);
    });
  };
  const backend: Backend = opened.use(await openBackend(serve));
  const path = opened.use(await openProxyPath(backend.port, { ...options, ...(isTls && { tls }) }));
  before?.(path);
  const closing = opened.move();
  return { path, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

describe.each([
  { by: "HTTP", isTls: false },
  { by: "HTTPS", isTls: true },
])("over $by, a client that sends 1 MiB after its answer, and then reads", ({ isTls }) => {
  it.each(cases)("gets the whole answer because of $what", async (given) => {
    await using opened = await openPath(given, isTls);
    const { path } = opened;
    const socket = await (isTls ? dialledTls : dialled)(path.port);
    const sender = senderOn(socket);
    socket.write(given.request);
    await eventually(() => path.refusals.length > 0 || path.ends.length > 0);
    if (given.before) path.front.stopAccepting();
    await sender.sendMore();
    const { text, error } = await sender.hear();
    expect(error).toBe("");
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${given.status} `));
    const [head = "", body = ""] = text.split("\r\n\r\n", 2);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    expect(body.length).toBe(length === undefined ? 100_000 : Number(length));
    await path.empty();
  });
});

it.each([
  { by: "HTTP", isTls: false },
  { by: "HTTPS", isTls: true },
])("over $by, a client whose upload is held and then fails gets the whole answer", async ({ isTls }) => {
  const released = Promise.withResolvers<void>();
  const given: Case = { what: "", request: "", status: 503, options: { released: released.promise } };
  await using opened = await openPath(given, isTls);
  const socket = await (isTls ? dialledTls : dialled)(opened.path.port);
  const sender = senderOn(socket);
  socket.write(`${post.replace("/", "/held")}Content-Length: 9999999\r\n\r\n`);
  const sent = sender.sendMore();
  await eventually(() => opened.path.front.active === 1);
  released.reject(new ActivatorError("WakeTimedOut", { subject: "nova" }));
  await sent;
  const { text, error } = await sender.hear();
  expect([text.slice(0, 12), error]).toEqual(["HTTP/1.1 503", ""]);
  expect(text).toMatch(/nova.*\}$/);
  await opened.path.empty();
});

it("a replica that exits waits for a client that sends after its answer", async () => {
  await using backend = await openBackend((socket) => void socket.once("data", () => socket.write(early)));
  await using path = await openProxyPath(backend.port);
  const socket = await dialled(path.port);
  const sender = senderOn(socket);
  socket.write(`${post}Content-Length: 9999999\r\n\r\nx`);
  await eventually(() => path.ends.length > 0);
  path.front.stopAccepting();
  let isIdle = false;
  const idle = path.front.idle().then(() => (isIdle = true));
  await sender.sendMore();
  expect(isIdle).toBe(false);
  const { text, error } = await sender.hear();
  expect([text.endsWith("no"), error]).toEqual([true, ""]);
  await idle;
});
