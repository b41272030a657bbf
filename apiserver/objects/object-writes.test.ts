import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { KindRegistry } from "../kind-registry.ts";
import { servedKinds } from "../kinds/served-kinds.ts";
import { startObjectStore } from "../start-object-store.ts";
import { resourceName } from "../status-errors.ts";

it("an object of more than 1.5 MiB from an earlier version can be made smaller, but not larger", async () => {
  const kinds = new KindRegistry(servedKinds());
  const log = createLogger("a test", "silent", { write: () => {} });
  await using store = startObjectStore({ clock: new FakeClock(), log, kinds, dataDir: undefined });
  const resource = resourceName(configMapType);
  const metadata = { name: "a", namespace: "default", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
  const sized = (length: number) => ({ metadata, data: { text: "x".repeat(length) } });
  store.storage.put(resource, { apiVersion: "v1", kind: "ConfigMap", ...sized(2_000_000) });
  const kind = kinds.ofResource(resource);
  const resize = (length: number) => {
    const update = { subresource: undefined, versionRequired: false, change: () => sized(length) };
    if (kind) store.writes.update(kind, metadata, update, { dryRun: false, fieldValidation: "Ignore" });
  };
  expect(() => resize(2_000_001)).toThrow("etcdserver: request is too large");
  expect(() => resize(1_999_999)).not.toThrow();
  expect(store.storage.get(resource, "default", "a")?.object).toMatchObject(sized(1_999_999));
});
