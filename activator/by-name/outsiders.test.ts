import { expect, it } from "vitest";
import { clientHello } from "../../test/support/builders/client-hello.ts";
import { eventually } from "../../test/support/eventually.ts";
import { heldRequests } from "../../test/support/labs/activator-world.ts";
import { novaHost, openByNameWorld, openToAll } from "../../test/support/labs/by-name-lab.ts";
import { talkTo } from "../../test/support/labs/tcp-front-lab.ts";
import { holdsPerSandbox } from "../hold/hold-registry.ts";
import { portsByNameMax } from "../sandbox/slim-sandbox.ts";

it("clients by name that fill their slots take none of a request's, and find none in the others", async () => {
  await using world = await openByNameWorld(["--held-max-per-sandbox=8", "--held-max-per-namespace=8"]);
  world.kubelet.refuse("nova", "waits");
  await world.asleep("nova", undefined, openToAll);
  const hello = await clientHello({ servername: novaHost });
  using clients = new DisposableStack();
  for (let count = 1; count <= 2; count += 1) {
    clients.use(await talkTo(world.port)).socket.write(hello);
    await eventually(async () => (await heldRequests(world)) === count);
  }
  const refused = clients.use(await talkTo(world.port));
  refused.socket.write(hello);
  expect(await refused.over()).toBe("reset");
  const over = new AbortController();
  clients.defer(() => over.abort());
  const ask = () =>
    fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova" }, signal: over.signal }).catch(() => {});
  for (let count = 0; count < 8; count += 1) void ask();
  await eventually(async () => (await heldRequests(world)) === 10);
});

it("clients by name that wait for all declared ports leave a request the holds of its own port", async () => {
  expect(portsByNameMax).toBe(holdsPerSandbox);
  await using world = await openByNameWorld();
  world.kubelet.refuse("nova", "waits");
  const ports = Array.from({ length: portsByNameMax }, (_, at) => ({ containerPort: 2_000 + at }));
  const podTemplate = { spec: { containers: [{ name: "main", image: "program", ports }] } };
  await world.asleep("nova", undefined, { ...openToAll, podTemplate });
  using clients = new DisposableStack();
  for (const { containerPort } of ports) {
    const servername = `${containerPort}--nova--default.sandbox.localhost`;
    clients.use(await talkTo(world.port)).socket.write(await clientHello({ servername }));
  }
  await eventually(async () => (await heldRequests(world)) === portsByNameMax);
  const over = new AbortController();
  clients.defer(() => over.abort());
  const headers = { "X-Sandbox-ID": "nova", "X-Sandbox-Port": "9999" };
  void fetch(world.activator.proxyUrl, { headers, signal: over.signal }).catch(() => {});
  await eventually(async () => (await heldRequests(world)) === portsByNameMax + 1);
});
