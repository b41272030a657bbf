import { describe, expect, it } from "vitest";
import { keyOf, type Stored } from "../api/kinds/meta.ts";
import type { Pod } from "../api/kinds/pod.ts";
import { ApiError } from "../kube/client/errors.ts";
import { FakeClock } from "../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../test/support/builders/builders.ts";
import { feedInformer } from "../test/support/fakes/fed-informer.ts";
import { OwnWrites } from "./own-writes.ts";

const key = "lab/nova";
const pod = (resourceVersion: string, more: Partial<Stored<Pod>["metadata"]> = {}) =>
  aPodOf(aSandbox(), { resourceVersion, ...more });

function open() {
  const { informer, feed } = feedInformer<Pod>({});
  const clock = new FakeClock();
  const forgotten: string[] = [];
  const pods = new OwnWrites(informer, clock);
  pods.onForgotten((object) => forgotten.push(keyOf(object)));
  return { pods, feed, clock, forgotten };
}

describe("an object that we wrote", () => {
  it("is shown as the server answered until the watch has caught up", async () => {
    const { pods, feed, clock } = open();
    await pods.write(key, async () => pod("2"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("2");
    feed.set(pod("2"));
    feed.set(pod("3"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("3");
    expect(clock.pending).toBe(0);
  });

  it("does not replace a change that the watch reported before the response came", async () => {
    const { pods, feed } = open();
    await pods.write(key, async () => {
      feed.set(pod("2"));
      feed.set(pod("3"));
      return pod("2");
    });
    expect(pods.get(key)?.metadata.resourceVersion).toBe("3");
  });

  it("replaces older changes that arrive late", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    await pods.write(key, async () => pod("3"));
    feed.set(pod("2"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("3");
  });

  it("is replaced by any change if we created it", async () => {
    const { pods, feed } = open();
    await pods.create(key, async () => pod("2"));
    feed.set(pod("7"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("7");
  });

  it("is not replaced by its first version if we changed it before the watch knew it", async () => {
    const { pods, feed, clock } = open();
    await pods.create(key, async () => pod("2"));
    await pods.write(key, async () => pod("3"));
    feed.set(pod("2"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("3");
    feed.set(pod("3"));
    expect(clock.pending).toBe(0);
  });

  it("is replaced by a newer write", async () => {
    const { pods, feed } = open();
    feed.set(pod("1", { generation: 1 }));
    await pods.write(key, async () => pod("2", { generation: 1 }));
    feed.set(pod("4", { generation: 2 }));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("4");
  });

  it("keeps the newer of two versions if the answers of two writes come in reverse order", async () => {
    const { pods, feed, clock } = open();
    feed.set(pod("8"));
    const first = Promise.withResolvers<Stored<Pod>>();
    const firstWrite = pods.write(key, () => first.promise);
    await pods.write(key, async () => pod("10"));
    first.resolve(pod("9"));
    expect((await firstWrite).metadata.resourceVersion).toBe("9");
    expect(pods.get(key)?.metadata.resourceVersion).toBe("10");
    feed.set(pod("9"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("10");
    feed.set(pod("11"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("11");
    expect(clock.pending).toBe(0);
  });

  it("replaces what was known of an object of the same name before, whatever its version", async () => {
    const { pods } = open();
    await pods.write(key, async () => pod("5", { uid: "uid-of-the-first" }));
    await pods.write(key, async () => pod("4", { uid: "uid-of-the-second" }));
    expect(pods.get(key)?.metadata.uid).toBe("uid-of-the-second");
  });

  it("stays when a read that began before the write answers what the watch has", async () => {
    const { pods, feed } = open();
    feed.set(pod("8"));
    const answer = Promise.withResolvers<Stored<Pod>>();
    const read = pods.write(key, () => answer.promise);
    await pods.write(key, async () => pod("10"));
    answer.resolve(pod("8"));
    await read;
    expect(pods.get(key)?.metadata.resourceVersion).toBe("10");
  });

  it.each(["a write", "a deletion"])("stays when the answer of %s of the one before it comes late", async (call) => {
    const { pods, feed } = open();
    const former = pod("8", { uid: "uid-of-the-first" });
    feed.set(former);
    const answer = Promise.withResolvers<Stored<Pod>>();
    const late =
      call === "a write"
        ? pods.write(key, () => answer.promise)
        : pods.delete(former, async () => void (await answer.promise));
    await pods.create(key, async () => pod("10", { uid: "uid-of-the-second" }));
    answer.resolve(former);
    await late;
    expect(pods.get(key)?.metadata.uid).toBe("uid-of-the-second");
  });

  it("is not shown when the watch saw it replaced before the answer came", async () => {
    const { pods, feed } = open();
    const former = { uid: "uid-of-the-first" };
    feed.set(pod("8", former));
    await pods.write(key, async () => {
      feed.set(pod("10", { uid: "uid-of-the-second" }));
      return pod("9", former);
    });
    expect(pods.get(key)?.metadata.uid).toBe("uid-of-the-second");
  });

  it("is shown although the one before it of the same name goes only now", async () => {
    const { pods, feed } = open();
    feed.set(pod("1", { uid: "uid-of-the-first" }));
    await pods.write(key, async () => pod("2", { uid: "uid-of-the-second" }));
    feed.unset(pod("1", { uid: "uid-of-the-first" }));
    expect(pods.get(key)?.metadata.uid).toBe("uid-of-the-second");
  });

  it("is dropped, and reported as such, when the watch never confirms it", async () => {
    const { pods, clock, forgotten } = open();
    await pods.write(key, async () => pod("2"));
    await clock.advance(5_000);
    expect(pods.get(key)).toBeUndefined();
    expect(forgotten).toEqual([key]);
  });
});

describe("an object that we read from the server itself", () => {
  it("is shown as it was read if the watch had not reported it", async () => {
    const { pods } = open();
    await pods.write(key, async () => pod("2"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("2");
  });

  it("is not replaced by its first version, which the watch reports later", async () => {
    const { pods, feed } = open();
    await pods.write(key, async () => pod("5"));
    feed.set(pod("2"));
    expect(pods.get(key)?.metadata.resourceVersion).toBe("5");
  });

  it("hides no change that the watch reported meanwhile", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    await pods.write(key, async () => {
      feed.set(pod("2"));
      return pod("1");
    });
    expect(pods.get(key)?.metadata.resourceVersion).toBe("2");
  });
});

describe("an object that we deleted", () => {
  it("is shown in the latest version that was known", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    await pods.write(key, async () => pod("2"));
    await pods.delete(pod("1"), async () => {});
    expect(pods.get(key)?.metadata).toMatchObject({ resourceVersion: "2", deletionTimestamp: expect.any(String) });
  });

  it("is shown as terminating until the watch reports it", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    await pods.delete(pod("1"), async () => {});
    expect(pods.get(key)?.metadata.deletionTimestamp).toBeDefined();
    feed.unset(pod("2"));
    expect(pods.get(key)).toBeUndefined();
  });

  it("is not brought back when the watch was first", async () => {
    const { pods, feed, clock } = open();
    feed.set(pod("1"));
    await pods.delete(pod("1"), async () => feed.unset(pod("2")));
    expect(pods.get(key)).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it("stays terminating when the answer of an earlier write comes", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    const answer = Promise.withResolvers<Stored<Pod>>();
    const write = pods.write(key, () => answer.promise);
    await pods.delete(pod("1"), async () => {});
    answer.resolve(pod("2"));
    await write;
    expect(pods.get(key)?.metadata.deletionTimestamp).toBeDefined();
  });

  it("stays as it was when the call failed", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    await expect(pods.delete(pod("1"), () => Promise.reject(new Error("no answer")))).rejects.toThrow("no answer");
    expect(pods.get(key)?.metadata).not.toHaveProperty("deletionTimestamp");
  });
});

describe("an object that a read does not find", () => {
  const notFound = new ApiError(404, { apiVersion: "v1", kind: "Status", reason: "NotFound" });
  const findNothing = () => Promise.reject(notFound);

  it("is not shown, until the watch reports something about its name", async () => {
    const { pods, feed, clock } = open();
    feed.set(pod("1"));
    await pods.write(key, async () => pod("2"));
    expect(await pods.read(key, findNothing)).toBeUndefined();
    expect(pods.get(key)).toBeUndefined();
    expect(clock.pending).toBe(0);
    feed.set(pod("4", { uid: "another" }));
    expect(pods.get(key)?.metadata.uid).toBe("another");
  });

  it("is shown if another one has its name since the read began", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    await pods.read(key, () => {
      feed.set(pod("4", { uid: "another" }));
      return findNothing();
    });
    expect(pods.get(key)?.metadata.uid).toBe("another");
  });

  it("is shown if the read failed", async () => {
    const { pods, feed } = open();
    feed.set(pod("1"));
    await expect(pods.read(key, () => Promise.reject(new Error("no answer")))).rejects.toThrow("no answer");
    expect(pods.get(key)?.metadata.resourceVersion).toBe("1");
  });
});
