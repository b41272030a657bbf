import { expect, it } from "vitest";
import { configMapType, podType, secretType, serviceType } from "../../api/kinds/core.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { causeOf, isSuspensionComplete } from "../../api/rules/suspension.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type Database, databases, namedDatabases } from "../support/databases.ts";
import { clientOf, LocalMode } from "../support/labs/local-mode.ts";

const place = { namespace: "default", name: "database" } as const;

/** Creates the database, with an idle time of two seconds. */
async function create(client: KubeClient, { objects }: Database): Promise<void> {
  for (const object of objects) {
    const placed = { ...object, metadata: { ...object.metadata, namespace: "default" } };
    if (object.kind === "Secret") await client.create(secretType, placed);
    else if (object.kind === "ConfigMap") await client.create(configMapType, placed);
    else {
      const { spec, ...rest } = placed as Sandbox;
      const autoSuspension = { inactivityTimeoutSeconds: 2 };
      await client.create(sandboxType, { ...rest, spec: { ...spec, autoSuspension } });
    }
  }
}

async function addressOf(client: KubeClient): Promise<string> {
  const find = async () => (await client.get(serviceType, place)).spec?.clusterIP;
  await expect.poll(() => find().catch(() => undefined), { timeout: 10_000 }).toMatch(/^127\./);
  return (await find()) ?? "";
}

async function untilAsleep(client: KubeClient): Promise<void> {
  const cause = async () => {
    const sandbox = await client.get(sandboxType, place);
    return isSuspensionComplete(sandbox) && causeOf(sandbox);
  };
  await expect.poll(cause, { timeout: 30_000 }).toBe("Inactivity");
  await expect(client.get(podType, place)).rejects.toThrow("not found");
}

it.each(databases)(
  "$title is suspended when idle, and its own client wakes it at the address of its Service",
  async (database) => {
    await using local = new LocalMode();
    const ready = await local.start("--no-example");
    await using client = clientOf(ready);
    await create(client, database);
    const address = await addressOf(client);
    // The first connection may come before the address is served.
    await expect
      .poll(() => database.write(address, "kept").then(() => "written", String), { timeout: 30_000 })
      .toBe("written");
    await untilAsleep(client);
    expect(await database.read(address)).toBe("kept");
    expect((await client.get(sandboxType, place)).spec.operatingMode).toBe("Running");
    await untilAsleep(client);
    expect(await Promise.all([1, 2, 3, 4].map(() => database.read(address)))).toEqual(["kept", "kept", "kept", "kept"]);
  },
  90_000,
);

it.each(namedDatabases)(
  "$title wakes for its own client that names it within TLS, and not before its owner allows that",
  async (database) => {
    await using local = new LocalMode();
    const { byName = "", ...ready } = await local.start("--no-example", "--by-name-port=0");
    await using client = clientOf({ byName, ...ready });
    await create(client, database);
    const port = Number(byName.split(":")[1]);
    const ask = (command: string) => database.askByName(`database.default.${ready.domain}`, port, command);
    await expect.poll(() => client.get(podType, place).then(() => "there", String), { timeout: 30_000 }).toBe("there");
    await untilAsleep(client);
    await expect(ask("select 1")).rejects.toThrow("unrecognized name");
    await expect(client.get(podType, place)).rejects.toThrow("not found");
    const body = { spec: { autoResume: { allowFrom: "Any" as const } } };
    await client.patch(sandboxType, place, { type: "merge", body });
    expect(await ask("select ssl from pg_stat_ssl where pid = pg_backend_pid()")).toBe("t");
    await untilAsleep(client);
    const both = [ask("select 1"), ask("select 2")];
    expect(await Promise.all(both)).toEqual(["1", "2"]);
  },
  90_000,
);
