import { createServer } from "node:net";
import { expect, it } from "vitest";
import { createLogger } from "../../lib/log/log.ts";
import type { Program } from "../../test/support/fakes/tiny-kubelet.ts";
import { openActivatorWorld, sandboxPort } from "../../test/support/labs/activator-world.ts";

/** Closes each connection at its first bytes. */
const hangsUp: Program = (podIp) => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.destroy());
  }).listen(sandboxPort, podIp);
  return { [Symbol.asyncDispose]: async () => void server.close() };
};

it("requests without a response log one line a minute for each sandbox and reason", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger("test", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  await using world = await openActivatorWorld([], {}, { log });
  await world.awake("nova", hangsUp);
  await world.awake("vega", hangsUp);
  const ask = async (name: string) =>
    (await fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": name } })).status;
  for (let round = 0; round < 5; round += 1) {
    expect(await Promise.all([ask("nova"), ask("vega"), ask("nova"), ask("nova")])).toEqual([502, 502, 502, 502]);
  }
  const rejected = lines.filter(({ msg }) => msg === "request rejected");
  const of = (sandbox: string) => ({ reason: "ResponseLost", namespace: "default", sandbox, err: expect.anything() });
  expect(rejected.sort((a, b) => (String(a["sandbox"]) < String(b["sandbox"]) ? -1 : 1))).toMatchObject([
    of("nova"),
    of("vega"),
  ]);
});
