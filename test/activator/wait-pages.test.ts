import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { type ActivatorWorld, httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";

/** What a browser gets that opens a sandbox's page: the answer, or the wait page, which reloads itself after a second. */
const open = ({ activator }: ActivatorWorld, name: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = { host: `${name}.default.sandbox.localhost`, accept: "text/html", "sec-fetch-mode": "navigate" };
    const asked = request({ port: activator.proxyPort, host: "127.0.0.1", agent: false, headers }, async (response) => {
      resolve(Buffer.concat(await Array.fromAsync(response)).toString());
    });
    asked.on("error", reject).end();
  });

it("all sandboxes of wait pages are woken, though more pages reload than wakes are allowed", {
  timeout: 60_000,
}, async () => {
  await using world = await openActivatorWorld(["--wakes-per-second=2", "--wakes-burst=1"]);
  const names = Array.from({ length: 6 }, (_, index) => `nova-${index}`);
  await Promise.all(
    names.map((name) =>
      world.asleep(
        name,
        httpProgram((_, answer) => answer.end("awake")),
      ),
    ),
  );
  let pages = 0;
  const browse = async (name: string) => {
    while ((await open(world, name)) !== "awake") {
      pages += 1;
      await sleep(1_000); // as the page says
    }
  };
  await Promise.all(names.map(browse));
  expect(pages).toBeGreaterThan(2);
});
