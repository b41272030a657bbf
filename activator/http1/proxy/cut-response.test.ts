import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";

const begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";

/** How a connection ends for its client once `cut` was called behind the first bytes of a response. */
async function endOf(port: number, request: string, cut: () => void): Promise<string> {
  const client = await dialled(port);
  const ended = new Promise<string>((resolve) => {
    client.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? ""));
    client.once("end", () => resolve("an end"));
  });
  let heard = "";
  client.on("data", (bytes: Buffer) => (heard += bytes.toString("latin1")));
  client.write(request);
  await eventually(() => heard.includes("hello"));
  cut();
  const seen = await ended;
  client.destroy();
  return seen;
}

describe("a response that is cut, to a client of HTTP/1.0, which knows no chunks", () => {
  const request = "GET / HTTP/1.0\r\nHost: nova\r\n\r\n";

  it("ends in a reset if the sandbox breaks off: an end would mark it as complete", async () => {
    let cut = () => {};
    await using backend = await openBackend((socket) => {
      cut = () => void socket.resetAndDestroy();
      socket.once("data", () => socket.write(begun));
    });
    await using proxyPath = await openProxyPath(backend.port);
    expect(await endOf(proxyPath.port, request, () => cut())).toBe("ECONNRESET");
    await proxyPath.empty();
  });

  it("ends in a reset when the activator exits", async () => {
    await using backend = await openBackend((socket) => void socket.once("data", () => socket.write(begun)));
    const proxyPath = await openProxyPath(backend.port);
    let disposed: PromiseLike<void> | undefined;
    const leave = () => {
      disposed = proxyPath[Symbol.asyncDispose]();
    };
    expect(await endOf(proxyPath.port, request, leave)).toBe("ECONNRESET");
    await disposed;
  });
});

describe("the limit until a sandbox begins its response", () => {
  it("is not extended by interim responses", async () => {
    await using backend = await openBackend((socket) => {
      const dribble = () =>
        socket.writable && socket.write("HTTP/1.1 102 Processing\r\n\r\n", () => setTimeout(dribble, 10));
      socket.once("data", dribble);
    });
    await using proxyPath = await openProxyPath(backend.port, { responseStartMs: 300 });
    const answer = await fetch(`http://127.0.0.1:${proxyPath.port}/`);
    expect(answer.status).toBe(504);
    expect(proxyPath.refusals).toEqual(["SandboxSlow"]);
  });
});
