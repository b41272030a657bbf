import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parseActivatorConfig } from "../../activator/config/config.ts";
import { startActivator } from "../../activator/start.ts";
import { drainSecretKeys, drainSecretName } from "../../api/between-programs/drain-credentials.ts";
import {
  drainPaths,
  parseActivityAnswer,
  parseBusyAnswer,
  parsePromiseAnswer,
} from "../../api/between-programs/drain-protocol.ts";
import { secretType } from "../../api/kinds/core.ts";
import { startDrainCertificates } from "../../controller/suspension/activators/drain-certificates.ts";
import { drainCalls } from "../../controller/suspension/activators/drain-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { openMemoryApi } from "../support/memory-api.ts";

const namespace = "agent-sandbox-system";
const flags = [
  "--http-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  "--metrics-bind-address=",
  "--drain-bind-address=127.0.0.1:0",
  "--authz-mode=allow-all",
];

describe("the drain protocol between the two programs", () => {
  it("works only with the certificates that the controller creates", async () => {
    await using api = await openMemoryApi();
    const { client } = api;
    const parts = { client, clock: systemClock, log: silentLogger };
    await using certificates = await startDrainCertificates({ ...parts, namespace });
    await using mounted = await mkdtempDisposable(join(tmpdir(), "drain-over-tls-"));
    const { data = {} } = await client.get(secretType, { namespace, name: drainSecretName });
    for (const [key, value] of Object.entries(data)) await writeFile(join(mounted.path, key), value, "base64");
    const { activatorCertificate, activatorKey, authorities } = drainSecretKeys;
    const config = parseActivatorConfig([
      ...flags,
      `--drain-tls-cert-file=${join(mounted.path, activatorCertificate)}`,
      `--drain-tls-key-file=${join(mounted.path, activatorKey)}`,
      `--drain-client-ca-file=${join(mounted.path, authorities)}`,
    ]);
    await using activator = await startActivator(config, { ...parts, registry: new Registry() });
    const address = { host: "127.0.0.1", port: activator.drainPort ?? 0 };
    const never = new AbortController().signal;
    const call = drainCalls(certificates.current, systemClock);
    const sandbox = { namespace: "lab", name: "nova", uid: "u1" };
    expect(parseActivityAnswer(await call(address, drainPaths.activity, {}, never))).toMatchObject({ full: true });
    const promise = await call(address, drainPaths.promise, { sandbox, podUid: "p1" }, never);
    expect(parsePromiseAnswer(promise)).toEqual({ inFlight: 0 });
    const busy = await call(address, drainPaths.busy, { sandbox, podUid: "p1", generation: 1 }, never);
    expect(parseBusyAnswer(busy)).toEqual({ asked: false, reason: "NotSeen" });
    const inTheClear = drainCalls(() => undefined, systemClock);
    await expect(inTheClear(address, drainPaths.activity, {}, never)).rejects.toThrow();
  });
});
