import { connect } from "node:net";
import { expect, it } from "vitest";
import { clientHello, padded } from "../../test/support/builders/client-hello.ts";
import { eventually } from "../../test/support/eventually.ts";
import { heldRequests } from "../../test/support/labs/activator-world.ts";
import { novaHost, openByNameWorld, openToAll } from "../../test/support/labs/by-name-lab.ts";

it.each([
  { what: "a long ClientHello takes a slot for each 8 KiB that may be kept", bytes: 12_000, admitted: 2 },
  { what: "a short ClientHello takes one slot", bytes: 0, admitted: 4 },
])("a held connection by name with $what", async ({ bytes, admitted }) => {
  await using world = await openByNameWorld(["--held-max-per-sandbox=16"]);
  world.kubelet.refuse("nova", "waits");
  await world.asleep("nova", undefined, openToAll);
  const hello = padded(await clientHello({ servername: novaHost }), bytes);
  using clients = new DisposableStack();
  const joins = () => {
    const client = connect({ port: world.port, host: "127.0.0.1" }).on("error", () => {});
    clients.defer(() => void client.destroy());
    client.write(hello);
  };
  for (let held = 1; held <= admitted; held += 1) {
    joins();
    await eventually(async () => (await heldRequests(world)) === held);
  }
  joins();
  await eventually(async () => (await world.refused("HoldLimitReached")) === 1);
  expect(await heldRequests(world)).toBe(admitted);
});
