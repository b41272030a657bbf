import { mkdirSync, mkdtempSync, rmdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { KindRegistry } from "../kind-registry.ts";
import { servedKinds } from "../kinds/served-kinds.ts";
import { startObjectStore } from "../start-object-store.ts";
import { resourceName } from "../status-errors.ts";
import { openDataDir } from "./data-dir.ts";

const resource = resourceName(configMapType);
const namespace = "default";

const aConfigMap = (name: string, rest: object = {}, text = ""): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace, name, uid: `uid-of-${name}`, creationTimestamp: "2026-01-01T00:00:00Z", ...rest },
  ...{ data: { text } },
});

it("writes succeed and garbage is collected while the journal cannot be shortened, and later it is", async () => {
  const directory = mkdtempSync(join(tmpdir(), "rouse-compaction-"));
  using _directory = { [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = createLogger("a test", "error", { write: (line) => lines.push(line) });
  // The name of the next snapshot is taken by a directory, so writing fails as on a full disk.
  mkdirSync(join(directory, "snapshot.new"));
  using dataDir = openDataDir(directory);
  await using objects = startObjectStore({ clock, log, kinds: new KindRegistry(servedKinds()), dataDir });
  const { storage } = objects;
  const text = "x".repeat(4_000_000);
  for (let at = 0; at < 5; at += 1) storage.put(resource, aConfigMap("big", {}, `${at}${text}`));
  const owner = aConfigMap("owner");
  storage.put(resource, owner);
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }];
  storage.put(resource, aConfigMap("child", { ownerReferences }));
  storage.remove(resource, owner);
  await clock.advance(1_000);
  expect(storage.get(resource, namespace, "child")).toBeUndefined();
  expect(lines.filter((line) => line.includes("could not compact"))).toHaveLength(1);

  rmdirSync(join(directory, "snapshot.new"));
  await clock.advance(10_000);
  storage.remove(resource, aConfigMap("big"));
  expect(statSync(join(directory, "journal")).size).toBeLessThan(1_000);
});
