import { expect, it } from "vitest";
import { podType } from "../api/core.ts";
import { drainPaths, type ObservedAnswer } from "../api/drain-protocol.ts";
import { sandboxType } from "../api/sandbox.ts";
import { type ActivatorWorld, httpProgram, openActivatorWorld } from "../test/support/activator-world.ts";

const nova = { namespace: "default", name: "nova" };
const member = { "X-Sandbox-ID": "nova", Authorization: "Bearer secret" };

/** What the activator says of its use of nova when a suspension is near. */
async function useOfNova({ activator, api }: ActivatorWorld): Promise<ObservedAnswer> {
  const { metadata } = await api.client.get(sandboxType, nova);
  const pod = await api.client.get(podType, nova);
  const generation = (metadata.generation ?? 0) + 1;
  const body = JSON.stringify({ sandbox: { ...nova, uid: metadata.uid }, podUid: pod.metadata.uid, generation });
  const url = `http://127.0.0.1:${activator.drainPort}${drainPaths.observed}`;
  return (await (await fetch(url, { method: "POST", body })).json()) as ObservedAnswer;
}

it.each([
  { what: "has no token", headers: { Authorization: "" }, status: 401 },
  { what: "has a wrong token", headers: { Authorization: "Bearer wrong" }, status: 401 },
  { what: "names a port that cannot be", headers: { "X-Sandbox-Port": "70000" }, status: 400 },
  { what: "is cut by the sandbox before it is answered", headers: {}, status: 502 },
])("a request that $what keeps no sandbox awake", async ({ headers, status }) => {
  await using world = await openActivatorWorld(["--drain-bind-address=127.0.0.1:0"], { ROUTER_AUTH_TOKEN: "secret" });
  await world.awake(
    "nova",
    httpProgram((request) => void request.socket.destroy()),
  );
  const response = await fetch(world.activator.proxyUrl, { headers: { ...member, ...headers } });
  expect(response.status).toBe(status);
  expect(await useOfNova(world)).toEqual({ inFlight: 0 });
});
