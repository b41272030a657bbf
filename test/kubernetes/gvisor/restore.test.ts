import { closeSync, openSync, readSync, rmSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signatureAnnotation } from "../../../api/rules/keys.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openTestNamespace } from "../support/workload.ts";
import { counter, firstPrinted, printed, type TestNamespace } from "./counter.ts";
import {
  applyAsController,
  capture,
  imageFolder,
  markOf,
  refusalOf,
  sentriesOf,
  startSigned,
  withoutAgent,
} from "./node-agent.ts";

let cluster: ClusterUnderTest;
let noAgent: AsyncDisposable;
beforeAll(async () => {
  cluster = await connectToCluster();
  noAgent = await withoutAgent(cluster); // it would remove images without an object
});
afterAll(async () => {
  await noAgent[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const start = ({ namespace }: TestNamespace, image?: string) =>
  image ? startSigned(cluster, namespace, counter(image)) : applyAsController(cluster, namespace, counter());

/** Starts a Pod, captures it, deletes it, and returns its image and what it counted last. */
async function sleep(test: TestNamespace) {
  await start(test);
  await eventually(async () => (await printed(test)).length > 10);
  const uid = await test.run("get", "pod", "guest", "--output=jsonpath={.metadata.uid}");
  const folder = await capture({ namespace: test.namespace, name: "guest", uid }, "g1");
  const last = (await printed(test)).at(-1);
  await test.run("delete", "pod", "guest", "--timeout=60s");
  await eventually(() => sentriesOf(uid).length === 0);
  return { folder, last };
}

describe("a Pod that asks for its memory", () => {
  it("goes on counting where the captured Pod was paused, and starts anew when it crashes", async () => {
    await using test = await openTestNamespace(cluster);
    const { folder, last } = await sleep(test);
    await start(test, "g1");
    const first = await firstPrinted(test);
    expect(first).toEqual({ life: last?.life, count: (last?.count ?? 0) + 1 });
    expect([markOf(folder).outcome, markOf(folder, "main").outcome]).toEqual(["restored", "restored"]);

    await test.run("exec", "guest", "--", "touch", "/crash");
    const anew = await firstPrinted(test, ({ life }) => life !== last?.life);
    expect(anew.count).toBe(1);
  });

  it("starts anew if one byte of its image was changed, and a file beside the image says why", async () => {
    await using test = await openTestNamespace(cluster);
    const { folder, last } = await sleep(test);
    const image = openSync(join(folder, "pages.img"), "r+");
    const byte = Buffer.alloc(1);
    readSync(image, byte, 0, 1, 4096);
    writeSync(image, Buffer.from([(byte[0] ?? 0) ^ 1]), 0, 1, 4096);
    closeSync(image);
    await start(test, "g1");
    const anew = await firstPrinted(test);
    expect(anew.life).not.toBe(last?.life);
    expect(markOf(folder)).toMatchObject({ outcome: "refused", reason: expect.stringContaining("bytes of pages.img") });
  });

  it("starts anew without a signature for its own UID, and leaves the image to the Pod that has one", async () => {
    await using test = await openTestNamespace(cluster);
    const { folder, last } = await sleep(test);
    await applyAsController(cluster, test.namespace, counter("g1"));
    expect((await firstPrinted(test)).life).not.toBe(last?.life);
    expect(refusalOf(folder).reason).toBe("NotSigned");
    await test.run("delete", "pod", "guest", "--timeout=60s");

    await start(test, "g1");
    expect(await firstPrinted(test)).toEqual({ life: last?.life, count: (last?.count ?? 0) + 1 });
    const stolen = JSON.parse(await test.run("get", "pod", "guest", "--output=json")).metadata.annotations;
    await test.run("delete", "pod", "guest", "--timeout=60s");
    const { metadata, ...pod } = counter("g1");
    const annotations = { ...metadata.annotations, [signatureAnnotation]: stolen[signatureAnnotation] };
    await applyAsController(cluster, test.namespace, { ...pod, metadata: { ...metadata, annotations } });
    expect((await firstPrinted(test)).life).not.toBe(last?.life);
    expect(refusalOf(folder).reason).toBe("WrongSignature");
  });

  it("starts anew if its image is cut or missing, and a file beside the image says why", async () => {
    await using test = await openTestNamespace(cluster);
    const { folder } = await sleep(test);
    truncateSync(join(folder, "pages.img"), 4096);
    await start(test, "g1");
    await eventually(async () => (await printed(test)).length > 0);
    expect(markOf(folder)).toMatchObject({
      outcome: "refused",
      reason: expect.stringContaining("pages.img has 4096 bytes"),
    });
    await test.run("delete", "pod", "guest", "--timeout=60s");
    await start(test, "g2");
    await eventually(async () => (await printed(test)).length > 0);
    const missing = imageFolder({ namespace: test.namespace, name: "guest" }, "g2");
    expect(refusalOf(missing)).toMatchObject({
      reason: "ImageMissing",
      message: expect.stringContaining("no such file"),
    });
    await test.run("delete", "pod", "guest", "--timeout=60s");
    rmSync(folder, { recursive: true });
  });
});
