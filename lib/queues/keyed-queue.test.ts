import { describe, expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { KeyedQueue } from "./keyed-queue.ts";

const backoff = { baseMs: 10, maxMs: 40, jitter: 0 };
const settled = () => new Promise((resolve) => setImmediate(resolve));

function aQueue() {
  const clock = new FakeClock();
  return { clock, queue: new KeyedQueue(clock, backoff) };
}

describe("keys that are to come later", () => {
  it("all come at once when the clock has jumped, each once, and no timer stays", async () => {
    const { clock, queue } = aQueue();
    queue.addAfter("a", 1_000);
    queue.addRateLimited("b");
    queue.add("now");
    queue.addAllDelayed();
    expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(["now", "a", "b"]);
    expect([queue.depth, clock.pending]).toEqual([0, 0]);
    expect(queue.failures("b")).toBe(1);
  });

  it.each([
    { whose: "from before its pass", inThePass: undefined },
    { whose: "from the pass itself", inThePass: 9_000 },
  ])("come once more after a pass during which the clock jumped: the delay is $whose", async ({ inThePass }) => {
    const { clock, queue } = aQueue();
    queue.addAfter("a", 5_000);
    queue.add("a");
    await queue.take();
    queue.addAllDelayed();
    if (inThePass !== undefined) queue.addAfter("a", inThePass);
    queue.forget("a");
    queue.done("a");
    expect(queue.depth).toBe(1);
    await queue.take();
    queue.forget("a");
    queue.done("a");
    expect([queue.depth, clock.pending]).toEqual([0, 0]);
  });

  it("come once more for a pass only, not for each key that the jump itself has handed out", async () => {
    const { queue } = aQueue();
    queue.addAfter("a", 1_000);
    const taken = queue.take();
    queue.addAllDelayed();
    expect(await taken).toBe("a");
    queue.forget("a");
    queue.done("a");
    expect(queue.depth).toBe(0);
  });
});

describe("a key", () => {
  it("is handed out once, however often it was added", async () => {
    const { queue } = aQueue();
    for (const key of ["a", "b", "a", "a"]) queue.add(key);
    expect(queue.depth).toBe(2);
    expect(await queue.take()).toBe("a");
    expect(await queue.take()).toBe("b");
    expect(queue.depth).toBe(0);
  });

  it("is handed out at once to a worker that waits", async () => {
    const { queue } = aQueue();
    const taken = queue.take();
    queue.add("a");
    expect(await taken).toBe("a");
  });

  it("is never with two workers, and is handed out again when it was added meanwhile", async () => {
    const { queue } = aQueue();
    queue.add("a");
    await queue.take();
    queue.add("a");
    queue.add("a");
    let again: string | undefined;
    void queue.take().then((key) => {
      again = key;
    });
    await settled();
    expect(again).toBeUndefined();
    queue.done("a");
    await settled();
    expect(again).toBe("a");
    queue.done("a");
    expect(queue.depth).toBe(0);
  });

  it("that is added again waits behind the others", async () => {
    const { queue } = aQueue();
    queue.add("busy");
    await queue.take();
    queue.add("other");
    queue.add("busy");
    queue.done("busy");
    expect(await queue.take()).toBe("other");
    expect(await queue.take()).toBe("busy");
  });
});

describe("a delayed key", () => {
  it("is handed out after its delay", async () => {
    const { clock, queue } = aQueue();
    queue.addAfter("a", 100);
    await clock.advance(99);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(queue.depth).toBe(1);
  });

  it.each([
    { first: 100, second: 50 },
    { first: 50, second: 100 },
  ])("of delays of $first and $second ms keeps the earlier one alone", async ({ first, second }) => {
    const { clock, queue } = aQueue();
    queue.addAfter("a", first);
    queue.addAfter("a", second);
    expect(clock.pending).toBe(1);
    await clock.advance(50);
    expect(await queue.take()).toBe("a");
    queue.done("a");
    await clock.advance(1_000);
    expect(queue.depth).toBe(0);
  });

  it("without a delay is ready at once", () => {
    const { queue } = aQueue();
    queue.addAfter("a", 0);
    expect(queue.depth).toBe(1);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "of %s ms is refused, and starts no timer",
    (delayMs) => {
      const { clock, queue } = aQueue();
      expect(() => queue.addAfter("a", delayMs)).toThrow(RangeError);
      expect(clock.pending).toBe(0);
      expect(queue.depth).toBe(0);
    },
  );
});

describe("a delay from before a pass", () => {
  async function inAPass() {
    const { clock, queue } = aQueue();
    queue.addAfter("a", 1_000);
    queue.add("a");
    await queue.take();
    return { clock, queue };
  }

  it("ends with the pass that succeeds, so that a deleted object leaves no timer behind", async () => {
    const { clock, queue } = await inAPass();
    queue.forget("a");
    queue.done("a");
    expect(clock.pending).toBe(0);
  });

  it("is replaced by a later one from the pass", async () => {
    const { clock, queue } = await inAPass();
    queue.addAfter("a", 2_000);
    queue.forget("a");
    queue.done("a");
    expect(clock.pending).toBe(1);
    await clock.advance(1_999);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(queue.depth).toBe(1);
  });

  it.each([10, 5_000])("and the pass fails: the earlier of it and a backoff of %d ms stays", async (delayMs) => {
    const { clock, queue } = await inAPass();
    queue.addAfter("a", delayMs);
    queue.done("a");
    expect(clock.pending).toBe(1);
    await clock.advance(Math.min(delayMs, 1_000));
    expect(queue.depth).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it("that runs out during the pass has the key handed out once more", async () => {
    const { clock, queue } = await inAPass();
    await clock.advance(1_000);
    queue.forget("a");
    queue.done("a");
    expect(queue.depth).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it("ends when the queue is closed", async () => {
    const { clock, queue } = await inAPass();
    queue.close();
    expect(clock.pending).toBe(0);
  });
});

describe("a key that fails", () => {
  it("waits twice as long each time, up to the ceiling, until it is forgotten", async () => {
    const { clock, queue } = aQueue();
    const waits: number[] = [];
    const failOnce = async () => {
      const beganMs = clock.ticksMs();
      queue.addRateLimited("a");
      while (queue.depth === 0) await clock.advance(1);
      waits.push(clock.ticksMs() - beganMs);
      await queue.take();
      queue.done("a");
    };
    for (let round = 0; round < 4; round += 1) await failOnce();
    expect(queue.failures("a")).toBe(4);
    queue.forget("a");
    await failOnce();
    expect(waits).toEqual([10, 20, 40, 40, 10]);
    expect(queue.failures("a")).toBe(1);
  });
});

describe("a closed queue", () => {
  it("ends idle workers, hands out no key and leaves no timer", async () => {
    const { clock, queue } = aQueue();
    const idle = queue.take();
    queue.addAfter("later", 100);
    queue.close();
    expect(await idle).toBeUndefined();
    queue.add("a");
    queue.addAfter("b", 10);
    queue.addRateLimited("c");
    expect(await queue.take()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it("drops waiting keys, and additions to a key in progress", async () => {
    const { queue } = aQueue();
    queue.add("held");
    await queue.take();
    queue.add("held");
    queue.add("waiting");
    queue.close();
    queue.done("held");
    expect(queue.depth).toBe(0);
    expect(await queue.take()).toBeUndefined();
  });
});

describe("a key that may wait", () => {
  const patientQueue = (heldMax: number) =>
    new KeyedQueue(new FakeClock(), backoff, { patience: { mayWait: (key) => key.startsWith("spare"), heldMax } });
  const takeAll = async (queue: KeyedQueue) => {
    const taken: (string | undefined)[] = [];
    while (queue.depth > 0) taken.push(await queue.take());
    return taken;
  };

  it("is handed out after those that may not", async () => {
    const queue = patientQueue(9);
    for (const key of ["spare-1", "a", "spare-2", "b"]) queue.add(key);
    expect(queue.depth).toBe(4);
    expect(await takeAll(queue)).toEqual(["a", "b", "spare-1", "spare-2"]);
  });

  it("is overtaken by a limited number of keys", async () => {
    const queue = patientQueue(9);
    queue.add("spare");
    for (let n = 0; n < 20; n += 1) queue.add(`urgent-${n}`);
    const taken = await takeAll(queue);
    expect(taken.indexOf("spare")).toBe(16);
  });

  it("leaves workers for the others, and comes when one of its like is done", async () => {
    const queue = patientQueue(1);
    queue.add("spare-1");
    expect(await queue.take()).toBe("spare-1");
    queue.add("spare-2");
    const next = queue.take();
    queue.add("a");
    expect(await next).toBe("a");
    const after = queue.take();
    queue.done("spare-1");
    expect(await after).toBe("spare-2");
  });

  it("gets high priority when it is added with it", async () => {
    let spare = true;
    const queue = new KeyedQueue(new FakeClock(), backoff, {
      patience: { mayWait: (key) => key === "x" && spare, heldMax: 9 },
    });
    queue.add("x");
    spare = false;
    queue.add("x");
    queue.add("y");
    expect(await takeAll(queue)).toEqual(["x", "y"]);
  });
});
