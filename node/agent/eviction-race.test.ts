import { existsSync, linkSync, rmSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type Node, openNode, passUntil } from "../../test/support/labs/full-node.ts";
import { Files } from "./doors/files.ts";

const user = "5a0d0b0c-0000-4000-8000-000000000002";
const changes: readonly string[] = ["create", "link", "remove", "rename"];

/** Calls `at` before and after each call of the agent that changes what the shim sees of the image. */
function watched(at: () => void): Files {
  return new Proxy(new Files(), {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return async (...args: readonly unknown[]) => {
        const isAboutImage = changes.includes(String(name)) && String(args[0]).includes("guest0");
        if (isAboutImage) at();
        const result: unknown = await value.apply(target, args);
        if (isAboutImage) at();
        return result;
      };
    },
  });
}

/** The shim, as it decides: the maker of the mark has the image. Returns whether it has. */
function claim(folder: string): boolean {
  const mark = `${folder}/g0.json`;
  const refuse = (reason: string) =>
    writeFileSync(`${folder}/g0.refused`, JSON.stringify({ pod: user, reason, message: reason }));
  if (existsSync(mark) || !existsSync(`${folder}/g0/image.json`)) {
    if (existsSync(folder)) refuse(existsSync(`${folder}/g0/image.json`) ? "AlreadyUsed" : "ImageMissing");
    return false;
  }
  tell(folder, "", "restoring");
  return true;
}

function tell(folder: string, container: string, outcome: string): void {
  const path = `${folder}/g0${container && `.${container}`}.json`;
  rmSync(path, { force: true });
  writeFileSync(`${path}.new`, JSON.stringify({ pod: user, container: "s2", outcome, beganMs: Date.now() }));
  linkSync(`${path}.new`, path);
  rmSync(`${path}.new`);
}

/** An image is evicted for another one, and a Pod that asks for it is started at one moment. */
async function race(startsAt: number) {
  let [count, watching, hasImage] = [0, false, false];
  let folder = "";
  let asked: (() => void) | undefined;
  const at = () => {
    if (!watching) return;
    if (count === startsAt) {
      asked?.();
      hasImage = claim(folder);
    }
    count += 1;
    // gVisor reads it: the files stay until the node has told what became of it.
    if (hasImage && !existsSync(`${folder}/g0/image.json`)) throw new Error("an image goes while it is restored");
  };
  await using node = await openNode(2, 1, { files: watched(at) });
  folder = node.lab.path("images", "default", "guest0");
  asked = () => node.isAskedFor(0, user);
  await node.putToSleep(0, "2026-01-01T00:00:00Z");
  watching = true;
  at();
  for (let round = 0; round < 7; round += 1) {
    await node.pass(1);
    await node.pass(0);
  }
  watching = false;
  return { hasStarted: count > startsAt, ...(await end(node, folder, hasImage)) };
}

async function end(node: Node, folder: string, hasImage: boolean) {
  if (hasImage) for (const container of ["", "main"]) tell(folder, container, "restored");
  const { phase } = node.statusOf(1) ?? {};
  // Without an eviction the capture has failed, since the image was used.
  if (phase !== "Failed") await passUntil(node, 1, "Captured");
  for (let round = 0; round < 5; round += 1) await node.pass(0);
  const { restore, refused } = node.statusOf(0) ?? {};
  return { hasImage, restore, refused, whole: await node.whole() };
}

it("an image that is evicted while a Pod asks for it goes to the Pod or to the eviction, at any moment", {
  timeout: 120_000,
}, async () => {
  const winners = new Set<string>();
  for (let startsAt = 0; ; startsAt += 1) {
    const { hasStarted, hasImage, restore, refused, whole } = await race(startsAt);
    if (!hasStarted) break;
    winners.add(hasImage ? "Pod" : "eviction");
    if (hasImage) expect(restore, `moment ${startsAt}`).toMatchObject({ podUID: user, outcome: "Restored" });
    else if (refused) expect(refused.podUID, `moment ${startsAt}`).toBe(user);
    expect(whole, `moment ${startsAt}`).not.toContain("g0");
  }
  expect([...winners].sort()).toEqual(["Pod", "eviction"]);
});
