import { expect, it } from "vitest";
import { publicKeysName, publicKeysPart } from "../../../api/between-programs/memory-keys.ts";
import { configMapType } from "../../../api/kinds/core.ts";
import { type Logger, silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { hasPublicKey, keepPublicKeys, publicKeysPath } from "./keep-public-keys.ts";

const namespace = "agent-sandbox-system";
const storeRoot = "/var/lib/rouse";
const at = { namespace, name: publicKeysName };
const waiting = { timeout: 10_000 };
const key = (byte: number) => Buffer.alloc(32, byte).toString("base64");
const first = `${key(1)}\n`;
const next = `${key(2)}\n`;

/** The disk has one file. */
class FakeDisk {
  text: string | undefined;
  writes = 0;
  isFull = false;

  async read(path: string): Promise<string | undefined> {
    expect(path).toBe(publicKeysPath(storeRoot));
    return this.text;
  }

  async replace(path: string, text: string): Promise<void> {
    expect(path).toBe(publicKeysPath(storeRoot));
    this.writes += 1;
    if (this.isFull) throw new Error("no space left on device");
    this.text = text;
  }
}

async function open(known?: string) {
  await using stack = new AsyncDisposableStack();
  const { client } = stack.use(await openMemoryApi());
  const files = new FakeDisk();
  files.text = known;
  const clock = new FakeClock();
  const warnings: unknown[] = [];
  const log: Logger = { ...silentLogger, warn: (about: object) => warnings.push(about) };
  stack.use(keepPublicKeys({ client, clock, log, files, namespace, storeRoot }));
  const opened = stack.move();
  return {
    ...{ client, files, clock, warnings },
    create: (keys: string, name = publicKeysName) =>
      client.create(configMapType, {
        ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name } },
        data: { [publicKeysPart]: keys },
      }),
    change: (keys: string | null) =>
      client.patch(configMapType, at, { type: "merge", body: { data: { [publicKeysPart]: keys } } }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

it("a key is a line with 32 bytes in base64, as the shim reads it", () => {
  const one = key(1);
  for (const text of [one, `# ours\n  ${one}  \n`, `none\n${one}`]) expect(hasPublicKey(text), text).toBe(true);
  const none = [undefined, "", "\n", "none", one.slice(4), `${one} ${one}`, Buffer.alloc(33).toString("base64")];
  for (const text of none) expect(hasPublicKey(text), text).toBe(false);
});

it("the keys of the ConfigMap come to the node, and each change of them", async () => {
  await using world = await open();
  await world.create(key(3), "another");
  await world.create(first);
  await expect.poll(() => world.files.text, waiting).toBe(first);
  await world.change(next + first);
  await expect.poll(() => world.files.text, waiting).toBe(next + first);
  expect(world.files.writes).toBe(2);
});

it.each([
  ["is deleted", (world: Awaited<ReturnType<typeof open>>) => world.client.delete(configMapType, at)],
  ["loses its keys", (world: Awaited<ReturnType<typeof open>>) => world.change(null)],
  ["becomes empty", (world: Awaited<ReturnType<typeof open>>) => world.change("")],
  ["gets a text without a key", (world: Awaited<ReturnType<typeof open>>) => world.change("none")],
])("the copy stays when the ConfigMap %s, and takes the next keys", async (_, lose) => {
  await using world = await open(first);
  await world.create(first);
  await lose(world);
  await world.client.delete(configMapType, at).catch(() => {});
  await world.create(next);
  await expect.poll(() => world.files.text, waiting).toBe(next);
  expect(world.files.writes).toBe(1);
});

it("a copy that could not be written is written again, and the log says why", async () => {
  await using world = await open();
  world.files.isFull = true;
  await world.create(first);
  await expect.poll(() => world.files.writes, waiting).toBe(1);
  await expect.poll(() => world.warnings.length, waiting).toBe(1);
  world.files.isFull = false;
  await expect
    .poll(async () => {
      await world.clock.advance(10_000);
      return world.files.text;
    }, waiting)
    .toBe(first);
});
