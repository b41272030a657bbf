import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { waiting } from "../../test/support/waiting.ts";
import { BodyBudget, BodyRefused } from "./body-budget.ts";

/** A server that holds each body until it is told to let go, and answers with its length or the refusal. */
async function openServer(budget: BodyBudget) {
  let letGo = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const server = createServer(async (asked, response) => {
    try {
      using body = await budget.read(asked);
      await released;
      response.end(String(body.text.length));
    } catch (error) {
      response.writeHead(error instanceof BodyRefused ? error.code : 500, { connection: "close" }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const post = (body: string) => fetch(`http://127.0.0.1:${port}`, { method: "POST", body });
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port, post, letGo, [Symbol.asyncDispose]: close };
}

describe("the budget for bodies", () => {
  it("refuses a body that is too large", async () => {
    await using server = await openServer(new BodyBudget({ bytesMax: 10, bytesInHandMax: 100 }));
    server.letGo();
    expect((await server.post("x".repeat(11))).status).toBe(413);
    expect(await (await server.post("x".repeat(10))).text()).toBe("10");
  });

  it("refuses what there is no room for beside the others, until those are answered", async () => {
    const budget = new BodyBudget({ bytesMax: 10, bytesInHandMax: 15 });
    await using server = await openServer(budget);
    const first = server.post("x".repeat(10));
    await vi.waitFor(() => expect(budget.bytesInHand).toBe(10), waiting);
    expect((await server.post("x".repeat(10))).status).toBe(503);
    server.letGo();
    expect((await first).status).toBe(200);
    expect((await server.post("x".repeat(10))).status).toBe(200);
    expect(budget.bytesInHand).toBe(0);
  });

  it("forgets a body whose client leaves", async () => {
    const budget = new BodyBudget({ bytesMax: 10, bytesInHandMax: 10 });
    await using server = await openServer(budget);
    server.letGo();
    const headers = { "content-length": 10 };
    const leaving = request({ host: "127.0.0.1", port: server.port, method: "POST", headers });
    leaving.on("error", () => {});
    leaving.write("x".repeat(5));
    await vi.waitFor(() => expect(budget.bytesInHand).toBe(5), waiting);
    leaving.destroy();
    await vi.waitFor(() => expect(budget.bytesInHand).toBe(0), waiting);
  });
});
