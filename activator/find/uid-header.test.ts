import { expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  type ActivatorWorld,
  aSandbox,
  httpProgram,
  openActivatorWorld,
} from "../../test/support/labs/activator-world.ts";

const program = httpProgram((_, response) => response.end("here"));
const uidOf = async (world: ActivatorWorld, name: string) => String((await world.sandbox(name)).metadata.uid);

/** The status, and the code of an error. */
async function ask(world: ActivatorWorld, name: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": name, ...headers } });
  await response.text();
  return `${response.status} ${response.headers.get("x-rouse-reason") ?? ""}`.trim();
}

async function createMember(world: ActivatorWorld, name: string, operatingMode: "Running" | "Suspended") {
  world.kubelet.run(name, program);
  const sandbox = aSandbox(name, { operatingMode });
  const metadata = { ...sandbox.metadata, labels: { [warmPoolSandboxLabel]: "pool" } };
  await world.api.client.create(sandboxType, { ...sandbox, metadata });
}

it("an unclaimed member of a warm pool is reached only by who knows its UID", async () => {
  await using world = await openActivatorWorld(["--path-routing-prefix=/s"]);
  await createMember(world, "member", "Running");
  await eventually(() => world.kubelet.made("member") > 0);
  const uid = await uidOf(world, "member");
  await eventually(async () => (await ask(world, "member")) === "404 Unclaimed");
  expect(await ask(world, "member", { "X-Sandbox-UID": uid })).toBe("200");
  expect(await ask(world, "member")).toBe("404 Unclaimed");
  for (const other of [`${uid}x`, "u".repeat(10_000), `${uid}, ${uid}`]) {
    expect(await ask(world, "member", { "X-Sandbox-UID": other })).toBe("404 Unclaimed");
  }
  const byPath = await fetch(`${world.activator.proxyUrl}/s/default/member/8888/`, {
    headers: { "X-Sandbox-UID": uid },
  });
  expect(byPath.headers.get("x-rouse-reason")).toBe("Unclaimed");
});

it("an unclaimed member of a warm pool is not woken by its UID either", async () => {
  await using world = await openActivatorWorld();
  await createMember(world, "member", "Suspended");
  const uid = await uidOf(world, "member");
  await eventually(async () => (await ask(world, "member", { "X-Sandbox-UID": uid })) === "404 Unclaimed");
  expect(world.kubelet.made("member")).toBe(0);
});

it("a former UID leads to the sandbox that has the name now", async () => {
  await using world = await openActivatorWorld();
  await world.awake("nova", program);
  expect(await ask(world, "nova", { "X-Sandbox-UID": "a-former-one" })).toBe("200");
});
