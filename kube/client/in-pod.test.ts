import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { connectionOfPod } from "./in-pod.ts";

const environment = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rouse-in-pod-"));
  await writeFile(join(folder, "token"), "first\n");
  await writeFile(join(folder, "ca.crt"), "an authority");
});
afterEach(() => rm(folder, { recursive: true }));

it("a Pod's connection comes from its variables and its ServiceAccount's files", async () => {
  const connection = connectionOfPod(environment, { folder });
  expect(connection).toMatchObject({ server: "https://10.96.0.1:443", tls: { ca: Buffer.from("an authority") } });
  expect(await connection?.authHeaders()).toEqual({ authorization: "Bearer first" });
});

it("an address of IPv6 is put into brackets", () => {
  const { server } = connectionOfPod({ ...environment, KUBERNETES_SERVICE_HOST: "fd00::1" }, { folder }) ?? {};
  expect(server).toBe("https://[fd00::1]:443");
});

it("a renewed token is used within a minute; after a read error the last one stays", async () => {
  const clock = new FakeClock();
  const connection = connectionOfPod(environment, { folder, clock });
  const token = async () => (await connection?.authHeaders())?.["authorization"];
  await writeFile(join(folder, "token"), "second\n");
  expect(await token()).toBe("Bearer first");
  await clock.advance(60_000);
  expect(await token()).toBe("Bearer second");
  await rm(join(folder, "token"));
  await clock.advance(60_000);
  expect(await token()).toBe("Bearer second");
  await writeFile(join(folder, "token"), "third");
  await clock.advance(60_000);
  expect(await token()).toBe("Bearer third");
});

it("a renewed token is used after a suspension of the machine, and after a refusal", async () => {
  const clock = new FakeClock();
  const connection = connectionOfPod(environment, { folder, clock });
  const token = async () => (await connection?.authHeaders())?.["authorization"];
  await writeFile(join(folder, "token"), "second\n");
  clock.jumpWall(3_600_000);
  expect(await token()).toBe("Bearer second");
  await writeFile(join(folder, "token"), "third\n");
  expect(await token()).toBe("Bearer second");
  connection?.refused?.();
  expect(await token()).toBe("Bearer third");
});

it("the connection is undefined outside of a Pod, or without a ServiceAccount's files", async () => {
  expect(connectionOfPod({}, { folder })).toBeUndefined();
  await rm(join(folder, "ca.crt"));
  expect(connectionOfPod(environment, { folder })).toBeUndefined();
});
