import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/** The limit of the sandbox, and the longer one of its client. */
const limits = { responseStartMs: 10_000, proxyTimeoutMs: 60_000 };

/** An upload of ten bytes, of which five have come to the sandbox. `takes`: the bytes of a body that the sandbox reads. */
async function openUpload({ length = 10, takes = Number.POSITIVE_INFINITY } = {}) {
  await using opened = new AsyncDisposableStack();
  const clock = new FakeClock();
  let came = 0;
  const backend = opened.use(
    await openBackend((socket) => {
      let head = "";
      socket.on("data", (bytes: Buffer) => {
        head += head.includes("\r\n\r\n") ? "" : bytes.toString("latin1");
        came += bytes.length;
        if (came >= takes) socket.pause();
        if (head.includes("answer") && head.endsWith("0123456789")) socket.write(answer);
      });
    }),
  );
  const proxyPath = opened.use(await openProxyPath(backend.port, { ...limits, clock }));
  const client = await dialled(proxyPath.port);
  opened.defer(() => void client.destroy());
  let heard = "";
  client.on("data", (bytes: Buffer) => (heard += bytes.toString("latin1")));
  client.write(`POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${length}\r\n\r\n01234`);
  await eventually(() => came > 0);
  const closing = opened.move();
  return {
    ...{ clock, client, proxyPath },
    heard: () => heard,
    came: () => came,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe("the time of a sandbox", () => {
  it("does not run while its client pauses within the request", async () => {
    await using upload = await openUpload();
    await upload.clock.advance(5 * limits.responseStartMs);
    expect(upload.heard()).toBe("");
    const before = upload.came();
    upload.client.write("56789");
    await eventually(() => upload.came() === before + 5);
    await upload.clock.advance(limits.responseStartMs - 200);
    expect(upload.heard()).toBe("");
    await upload.clock.advance(400);
    await eventually(() => upload.heard() !== "");
    expect(upload.heard()).toMatch(/^HTTP\/1.1 504 /);
    expect(upload.proxyPath.refusals).toEqual(["SandboxSlow"]);
  });

  it("runs while it does not read what its client has sent", async () => {
    const length = 64_000_000; // more than the kernel keeps for two connections
    await using upload = await openUpload({ length, takes: 1 });
    upload.client.write(Buffer.alloc(length - 5));
    await eventually(async () => {
      await upload.clock.advance(limits.responseStartMs + 200);
      return upload.proxyPath.refusals.length === 1;
    });
    expect(upload.proxyPath.refusals).toEqual(["SandboxSlow"]);
  });
});

describe("a client that pauses within its request", () => {
  it("gets 408 at a limit of its own, and its connection is closed", async () => {
    await using upload = await openUpload();
    await upload.clock.advance(limits.proxyTimeoutMs - 400);
    expect(upload.heard()).toBe("");
    await upload.clock.advance(600);
    await eventually(() => upload.heard() !== "");
    expect(upload.heard()).toMatch(/^HTTP\/1.1 408 .*Connection: close/s);
    expect(upload.proxyPath.refusals).toEqual(["RequestTimedOut"]);
  });

  it("has that time again after each byte", async () => {
    await using upload = await openUpload();
    for (let count = 0; count < 4; count += 1) {
      await upload.clock.advance(limits.proxyTimeoutMs - 1_000);
      const before = upload.came();
      upload.client.write("5");
      await eventually(() => upload.came() > before);
      await upload.clock.advance(200);
    }
    expect(upload.heard()).toBe("");
  });
});
