import { afterAll, beforeAll, expect, it } from "vitest";
import { configMapType, podType, secretType, serviceType } from "../../api/kinds/core.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { causeOf, isSuspensionComplete } from "../../api/rules/suspension.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type Database, databases, namedDatabases } from "../support/databases.ts";
import { clientOf, LocalMode, type Ready } from "../support/labs/local-mode.ts";

const namespace = "default";
let local: LocalMode;
let ready: Ready;
let client: KubeClient & AsyncDisposable;

beforeAll(async () => {
  local = new LocalMode();
  ready = await local.start("--no-example", "--by-name-port=0");
  client = clientOf(ready);
  for (const database of databases) await create(database);
}, 60_000);

afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
});

/** Creates the database, with an idle time of two seconds. */
async function create({ objects }: Database): Promise<void> {
  for (const object of objects) {
    const placed = { ...object, metadata: { ...object.metadata, namespace } };
    if (object.kind === "Secret") await client.create(secretType, placed);
    else if (object.kind === "ConfigMap") await client.create(configMapType, placed);
    else {
      const { spec, ...rest } = placed as Sandbox;
      const autoSuspension = { inactivityTimeoutSeconds: 2 };
      await client.create(sandboxType, { ...rest, spec: { ...spec, autoSuspension } });
    }
  }
}

async function addressOf(name: string): Promise<string> {
  const find = async () => (await client.get(serviceType, { namespace, name })).spec?.clusterIP;
  await expect.poll(() => find().catch(() => undefined), { timeout: 10_000 }).toMatch(/^127\./);
  return (await find()) ?? "";
}

async function untilAsleep(name: string): Promise<void> {
  const cause = async () => {
    const sandbox = await client.get(sandboxType, { namespace, name });
    return isSuspensionComplete(sandbox) && causeOf(sandbox);
  };
  await expect.poll(cause, { timeout: 30_000, interval: 100 }).toBe("Inactivity");
  await expect(client.get(podType, { namespace, name })).rejects.toThrow("not found");
}

it.each(databases)(
  "$title is suspended when idle, and its own client wakes it at the address of its Service",
  async (database) => {
    const { name } = database;
    const address = await addressOf(name);
    // The first connection may come before the address is served.
    await expect
      .poll(() => database.write(address, "kept").then(() => "written", String), { timeout: 30_000 })
      .toBe("written");
    await untilAsleep(name);
    expect(await database.read(address)).toBe("kept");
    expect((await client.get(sandboxType, { namespace, name })).spec.operatingMode).toBe("Running");
    await untilAsleep(name);
    expect(await Promise.all([1, 2, 3, 4].map(() => database.read(address)))).toEqual(["kept", "kept", "kept", "kept"]);
  },
  90_000,
);

it.each(namedDatabases)(
  "$title wakes for its own client that names it within TLS, and not before its owner allows that",
  async (database) => {
    const { name } = database;
    const port = Number(ready.byName?.split(":")[1]);
    const ask = (command: string) => database.askByName(`${name}.${namespace}.${ready.domain}`, port, command);
    await untilAsleep(name);
    await expect(ask("select 1")).rejects.toThrow("unrecognized name");
    await expect(client.get(podType, { namespace, name })).rejects.toThrow("not found");
    const body = { spec: { autoResume: { allowFrom: "Any" as const } } };
    await client.patch(sandboxType, { namespace, name }, { type: "merge", body });
    expect(await ask("select ssl from pg_stat_ssl where pid = pg_backend_pid()")).toBe("t");
    await untilAsleep(name);
    const both = [ask("select 1"), ask("select 2")];
    expect(await Promise.all(both)).toEqual(["1", "2"]);
  },
  90_000,
);
