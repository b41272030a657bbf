import { expect, it } from "vitest";
import { observed } from "../support/drain-questions.ts";
import { httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";

const member = { "X-Sandbox-ID": "nova", Authorization: "Bearer secret" };

it.each([
  { what: "has no token", headers: { Authorization: "" }, status: 401 },
  { what: "has a wrong token", headers: { Authorization: "Bearer wrong" }, status: 401 },
  { what: "names a port that cannot be", headers: { "X-Sandbox-Port": "70000" }, status: 400 },
])("a request that $what keeps no sandbox awake", async ({ headers, status }) => {
  await using world = await openActivatorWorld(["--drain-bind-address=127.0.0.1:0"], { ROUTER_AUTH_TOKEN: "secret" });
  await world.awake(
    "nova",
    httpProgram((request) => void request.socket.destroy()),
  );
  const response = await fetch(world.activator.proxyUrl, { headers: { ...member, ...headers } });
  expect(response.status).toBe(status);
  expect(await observed(world, 1)).toEqual({ inFlight: 0 });
});
