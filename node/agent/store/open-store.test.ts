import { mkdirSync, mkdtempDisposableSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { LabApi, startLabAgent } from "../../../test/support/labs/mortal-agent.ts";
import { imageOf, labStore, NodeLab, podOf } from "../../../test/support/labs/node-lab.ts";
import { Files } from "../doors/files.ts";
import { openStore, StoreAnswers, storeWaitMs, watchStore } from "./open-store.ts";
import { ForeignStore, StoreFile } from "./store-file.ts";

/** A folder, and a look at it as an agent that has just started. */
function open(named: readonly string[] = []) {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-store-"));
  const clock = new FakeClock();
  const store = new StoreFile(folder.path, new Files());
  const stop = new AbortController();
  const trial = { result: async () => "Writable" as const };
  const parts = { clock, log: silentLogger, store, trial, answers: new StoreAnswers(clock), named: () => named };
  const dispose = () => {
    stop.abort();
    folder.remove();
  };
  return { clock, store, parts, signal: stop.signal, [Symbol.dispose]: dispose };
}

describe("the store of a node", () => {
  it("gets an identity once", async () => {
    using node = open();
    const first = await openStore(node.parts, node.signal);
    expect(first.replaces).toEqual([]);
    expect(await openStore(node.parts, node.signal)).toEqual(first);
    await expect(node.store.check(first)).resolves.toBeUndefined();
  });

  it("is waited for while the API names another one, and gets no identity meanwhile", async () => {
    using node = open(["disk"]);
    const opened = openStore(node.parts, node.signal);
    await node.clock.advance(storeWaitMs - 5_000);
    expect(await node.store.read()).toBeUndefined();
    await node.store.write({ id: "disk", replaces: [] });
    await node.clock.advance(1_000);
    expect(await opened).toEqual({ id: "disk", replaces: [] });
  });

  it("stands for a disk that does not come within ten minutes", async () => {
    using node = open(["disk"]);
    await node.store.write({ id: "other", replaces: ["older"] });
    const opened = openStore(node.parts, node.signal);
    await node.clock.advance(storeWaitMs + 1_000);
    expect(await opened).toEqual({ id: "other", replaces: ["older", "disk"] });
    expect(await openStore(node.parts, node.signal)).toEqual(await node.store.read());
  });

  it("stands for no more stores than a node has had, however many the API names", async () => {
    using node = open(["../not-an-id", ...Array.from({ length: 1_000 }, (_, index) => `store-${index}`)]);
    for (let starts = 0; starts < 20; starts += 1) {
      const opened = openStore(node.parts, node.signal);
      await node.clock.advance(storeWaitMs + 1_000);
      const { replaces } = await opened;
      expect(replaces.length).toBe(Math.min(256, 32 * (starts + 1)));
      expect(replaces).not.toContain("../not-an-id");
    }
  });

  it("ends the agent when it is another one", async () => {
    using node = open();
    const identity = await openStore(node.parts, node.signal);
    const watched = watchStore(node.parts, identity, node.signal);
    const ended = expect(watched).rejects.toThrow(ForeignStore);
    await node.store.write({ id: "other", replaces: [] });
    await node.clock.advance(5_000);
    await ended;
  });
});

describe("a store that cannot be read", () => {
  /** The store of a node, which cannot be read so many times. */
  const watch = (unreadable: number) => {
    let reads = 0;
    const read = async () => {
      reads += 1;
      if (reads <= unreadable) throw new Error("EMFILE: too many open files");
      return '{"id":"disk","replaces":[]}';
    };
    const [clock, stop] = [new FakeClock(), new AbortController()];
    const store = new StoreFile("/", { read, replace: async () => {} });
    const trial = { result: async () => "Writable" as const };
    const parts = { clock, log: silentLogger, store, trial, answers: new StoreAnswers(clock) };
    const ended = watchStore(parts, { id: "disk", replaces: [] }, stop.signal).catch((error: unknown) =>
      stop.signal.aborted ? "watches on" : String(error),
    );
    return { clock, stop, ended };
  };

  it("for less than a minute does not end the agent, and with it captures in progress", async () => {
    const { clock, stop, ended } = watch(11);
    await clock.advance(storeWaitMs);
    stop.abort();
    expect(await ended).toBe("watches on");
  });

  it("for a minute ends the agent", async () => {
    const { clock, ended } = watch(12);
    await clock.advance(60_000);
    expect(await ended).toContain("EMFILE");
  });
});

it.each(["read", "write"])("a store whose disk keeps each %s for ever is silent until it answers", async (hanging) => {
  const [clock, stop, held] = [new FakeClock(), new AbortController(), Promise.withResolvers<void>()];
  const state = { isHanging: false };
  const wait = async (of: string) => {
    if (state.isHanging && of === hanging) await held.promise;
  };
  const read = async () => {
    await wait("read");
    return `{"id":"${labStore.id}","replaces":[]}`;
  };
  const result = async () => {
    await wait("write");
    return "Writable" as const;
  };
  const answers = new StoreAnswers(clock);
  const store = new StoreFile("/", { read, replace: async () => {} });
  const parts = { clock, log: silentLogger, store, trial: { result }, answers };
  const watched = watchStore(parts, labStore, stop.signal).catch(() => {});
  await clock.advance(60_000);
  state.isHanging = true;
  await clock.advance(34_000);
  expect(answers.isSilent()).toBe(false);
  await clock.advance(1_000);
  expect(answers.isSilent()).toBe(true);
  held.resolve();
  await clock.advance(0);
  expect(answers.isSilent()).toBe(false);
  stop.abort();
  await watched;
});

describe("memory on a disk that is not mounted", () => {
  it("is not told as lost, and is there when the disk is", async () => {
    await using lab = new NodeLab();
    const pod = await lab.startPod();
    const api = new LabApi(lab);
    api.setPods(podOf(lab, pod.uid));
    api.put(imageOf(lab, pod.uid, { stage: "Capture" }));
    await startLabAgent(lab, api).settle();
    expect(api.image?.status).toMatchObject({ phase: "Captured", storeID: labStore.id });
    api.setPods();
    const agent = startLabAgent(lab, api);
    await agent.settle();
    const disk = `${lab.storeRoot}.disk`;
    renameSync(lab.storeRoot, disk);
    mkdirSync(lab.storeRoot);
    await expect(agent.settle()).rejects.toThrow(ForeignStore);
    await expect(startLabAgent(lab, api).settle()).rejects.toThrow(ForeignStore);
    expect(api.image?.status?.phase).toBe("Captured");
    rmSync(lab.storeRoot, { recursive: true });
    renameSync(disk, lab.storeRoot);
    await startLabAgent(lab, api).settle();
    expect(api.image?.status?.phase).toBe("Captured");
    expect(lab.has("images/default/guest/g1/image.json")).toBe(true);
  });
});
