import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { abortable, aborted, firstFailure, startTask, stopOnSignals } from "./lifecycle.ts";

describe("a task", () => {
  it("is aborted when it is disposed, and disposal waits for it", async () => {
    const events: string[] = [];
    {
      await using _task = startTask("reader", async (signal) => {
        await aborted(signal);
        events.push(String(signal.reason));
      });
      events.push("in use");
    }
    expect(events).toEqual(["in use", "Error: reader is stopping"]);
  });

  it.each([
    { how: "returns", work: async () => {}, says: "reader ended by itself" },
    { how: "rejects", work: () => Promise.reject(new Error("no")), says: "reader failed" },
    {
      how: "throws at once",
      work: () => {
        throw new Error("no");
      },
      says: "reader failed",
    },
  ])("that $how before it is aborted is a failure", async ({ work, says }) => {
    await using task = startTask("reader", work);
    await expect(task.failed).rejects.toThrow(says);
  });

  it("that failed gives its cause, and does not end a process that does not ask", async () => {
    const cause = new Error("connection lost");
    await using task = startTask("reader", () => Promise.reject(cause));
    await new Promise((resolve) => setImmediate(resolve));
    await expect(task.failed).rejects.toMatchObject({ cause });
  });

  it("that was stopped has not failed, however it ends", async () => {
    const task = startTask("reader", async (signal) => {
      await aborted(signal);
      throw new Error("torn away");
    });
    await task[Symbol.asyncDispose]();
    const first = await Promise.race([task.failed, new Promise((resolve) => setImmediate(() => resolve("quiet")))]);
    expect(first).toBe("quiet");
  });

  it("may be disposed of twice", async () => {
    const task = startTask("reader", aborted);
    await task[Symbol.asyncDispose]();
    await task[Symbol.asyncDispose]();
  });
});

describe("abortable work", () => {
  const never = new Promise<string>(() => {});

  it("ends as it ends by itself", async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve("done"), signal)).toBe("done");
    await expect(abortable(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  });

  it("is left with the signal's reason as soon as it is aborted", async () => {
    const stop = new AbortController();
    const waiting = abortable(never, stop.signal);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });

  it("is not awaited under an aborted signal, and its failure is ignored", async () => {
    const signal = AbortSignal.abort(new Error("before"));
    await expect(abortable(Promise.reject(new Error("unheard")), signal)).rejects.toThrow("before");
    // An unhandled rejection would be reported, and fail the run, in the turn after this one.
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("a process under stopOnSignals", () => {
  const program = `
    import { stopOnSignals } from ${JSON.stringify(new URL("./lifecycle.ts", import.meta.url).href)};
    const { signal } = stopOnSignals(process);
    signal.addEventListener("abort", () => process.stdout.write(signal.reason.message + "\\n"));
    setInterval(() => {}, 1000);
    process.stdout.write("ready\\n");
  `;

  async function startProgram() {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const nextLine = async () => (await lines.next()).value;
    expect(await nextLine()).toBe("ready");
    return {
      child,
      nextLine,
      [Symbol.dispose]: () => void child.kill("SIGKILL"),
    };
  }

  it.each(["SIGTERM", "SIGINT"] as const)("is asked to stop by %s", async (name) => {
    using started = await startProgram();
    started.child.kill(name);
    expect(await started.nextLine()).toBe(`received ${name}`);
  });

  it("is ended with status 1 by a further signal, but not by one that comes within a second", () => {
    const exits: unknown[] = [];
    const fake = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
    let nowMs = 5_000;
    using stop = stopOnSignals(fake as unknown as NodeJS.Process, { ticksMs: () => nowMs });
    fake.emit("SIGINT", "SIGINT");
    nowMs += 999;
    fake.emit("SIGINT", "SIGINT");
    fake.emit("SIGTERM", "SIGTERM");
    expect(exits).toEqual([]);
    nowMs += 1;
    fake.emit("SIGINT", "SIGINT");
    expect(exits).toEqual([1]);
    expect(stop.signal.reason).toEqual(new Error("received SIGINT"));
  });

  it("is left alone once that is disposed of", () => {
    const before = process.listenerCount("SIGTERM");
    {
      using _stop = stopOnSignals(process);
      expect(process.listenerCount("SIGTERM")).toBe(before + 1);
    }
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });
});

it("the first failure of several parts is reported; parts may be absent", async () => {
  const broken = startTask("the broken one", async () => {
    throw new Error("broken");
  });
  await using fine = startTask("the fine one", aborted);
  await expect(firstFailure(undefined, fine, {}, broken)).rejects.toThrow("the broken one failed");
});
