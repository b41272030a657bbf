import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { activatorFlags } from "../../activator/config/flags.ts";
import { eventually } from "../support/eventually.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../support/labs/activator-world.ts";

/** The flags that may be 0. */
const zeros = Object.entries(activatorFlags).flatMap(([name, { kind, check }]) => {
  if (kind === "string" || kind === "boolean" || (check as ((value: number) => unknown) | undefined)?.(0)) return [];
  return [`--${name}=${kind === "duration" ? "0s" : "0"}`];
});

const ask = async ({ activator }: ActivatorWorld, path = "", headers: Record<string, string> = {}) => {
  const response = await fetch(activator.proxyUrl + path, { headers: { "X-Sandbox-ID": "nova", ...headers } });
  return `${response.status} ${response.headers.get("x-rouse-reason") ?? (await response.text())}`;
};

/** Answers a moment after the request, and echoes on upgraded connections. */
const program = httpProgram(
  (_, response) => setTimeout(() => response.end("ok"), 20),
  (server) =>
    server.on("upgrade", (_, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
      socket.on("error", () => {}).pipe(socket);
    }),
);

/** A world with a Pod that is no longer young. */
async function openOldWorld(flag: string): Promise<ActivatorWorld> {
  const world = await openActivatorWorld(["--upstream-retry-initial-delay=50ms", flag]);
  await world.awake("nova", program, { autoResume: { timeoutSeconds: 2 } });
  const closed = { "X-Sandbox-Port": "9999" };
  await eventually(async () => (await ask(world, "", closed)) === "502 ConnectFailed", 20_000);
  return world;
}

describe("an activator with one flag of 0", () => {
  const worlds = new Map<string, ActivatorWorld>();
  beforeAll(async () => {
    await Promise.all(zeros.map(async (flag) => worlds.set(flag, await openOldWorld(flag))));
  }, 60_000);
  afterAll(async () => {
    await Promise.all([...worlds.values()].map((world) => world[Symbol.asyncDispose]()));
  });

  it.each(zeros)("serves requests and upgraded connections: %s", async (flag) => {
    const world = worlds.get(flag);
    if (!world) throw new Error("no activator was started");
    for (let count = 0; count < 3; count += 1) expect(await ask(world)).toBe("200 ok");
    using client = await rawConnection(world.activator);
    client.send("GET / HTTP/1.1\r\nHost: x\r\nX-Sandbox-ID: nova\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    await client.until(" 101 ");
    client.send("hello");
    await client.until("hello");
  });

  it("names at least the flags of the retries", () => {
    expect(zeros).toEqual(
      expect.arrayContaining(["--upstream-max-retries=0", "--upstream-retry-initial-delay=0s", "--drain-settle=0s"]),
    );
  });
});
