import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { reportUnexpected } from "../guard/guard.ts";
import { createLogger } from "../log/log.ts";
import { FakeClock } from "../time/clock.ts";
import { reportTo } from "./supervise.ts";

const at = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);

/** Runs `body` as the work of a supervised program, in a process of its own. It has `stop`, `registry` and `say`. */
async function runProgram(body: string, { endLimitMs = 10_000, signal }: { endLimitMs?: number; signal?: "SIGTERM" }) {
  const program = `
    import { Registry } from "prom-client";
    import { systemClock } from ${at("../time/clock.ts")};
    import { aborted, endProcess } from ${at("../process/lifecycle.ts")};
    import { createLogger } from ${at("../log/log.ts")};
    import { stayAlive } from ${at("../process/stay-alive.ts")};
    import { runSupervised } from ${at("../process/supervise.ts")};
    const registry = new Registry();
    const say = (line) => process.stdout.write(line + "\\n");
    const sleep = (ms) => systemClock.sleep(ms);
    const parts = { clock: systemClock, log: createLogger("a program"), registry, endLimitMs: ${endLimitMs} };
    endProcess(await runSupervised(process, parts, async (stop) => {
      using _alive = stayAlive();
      ${body}
    }));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: import.meta.dirname,
  });
  if (signal) child.stdout.once("data", () => child.kill(signal));
  const [said, log, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  const lines = log.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  return { said, status, lines, log };
}

describe("a supervised program", () => {
  it.each([
    { what: "a callback that throws", body: "setImmediate(() => { throw new Error('broken') });" },
    { what: "a promise that no code awaits", body: "Promise.reject(new Error('broken'));" },
  ])("ends in order with status 1 after $what", async ({ body }) => {
    const { said, status, lines } = await runProgram(
      `${body} await aborted(stop); await sleep(50);
       say(await registry.getSingleMetricAsString("rouse_unexpected_errors_total"));`,
      {},
    );
    expect(status).toBe(1);
    expect(said).toContain('rouse_unexpected_errors_total{where="process"} 1');
    const unexpected = lines.filter(({ msg }) => msg === "unexpected error");
    expect(unexpected).toMatchObject([{ where: "process", err: { stack: expect.stringContaining("at ") } }]);
  });

  it("logs a second error while it ends, and does not end sooner", async () => {
    const { said, status, lines } = await runProgram(
      `setImmediate(() => { throw new Error("first") });
       await aborted(stop);
       setImmediate(() => { throw new Error("second") });
       await sleep(50);
       say("ended in order");`,
      {},
    );
    expect(said).toBe("ended in order\n");
    expect(status).toBe(1);
    expect(lines.flatMap(({ err }) => err?.message ?? [])).toEqual(["first", "second"]);
  });

  it("is ended with status 1 when its end takes longer than it may", async () => {
    const body = `setImmediate(() => { throw new Error("broken") }); await new Promise(() => {});`;
    expect((await runProgram(body, { endLimitMs: 100 })).status).toBe(1);
  });

  it("is ended with status 1 when its end after a signal takes longer than it may", async () => {
    const { status, lines } = await runProgram(`say("runs"); await new Promise(() => {});`, {
      endLimitMs: 100,
      signal: "SIGTERM",
    });
    expect(status).toBe(1);
    expect(lines).toMatchObject([{ msg: "the shutdown takes too long: ending at once" }]);
  });

  it("is ended with status 1 when errors come without an end", async () => {
    const body = `const fail = () => { setImmediate(fail); throw new Error("broken") };
      setImmediate(fail); await new Promise(() => {});`;
    const { status, lines } = await runProgram(body, { endLimitMs: 60_000 });
    expect(status).toBe(1);
    expect(lines.length).toBeLessThan(20);
  });

  it("ends in order with status 0 at SIGTERM", async () => {
    const body = `say("ready"); await aborted(stop); say("ended in order");`;
    const { said, status } = await runProgram(body, { signal: "SIGTERM" });
    expect(said).toBe("ready\nended in order\n");
    expect(status).toBe(0);
  });
});

it("of many unexpected errors all are counted, and ten a minute are logged", async () => {
  const clock = new FakeClock();
  const registry = new Registry();
  const lines: { where: string; leftOut?: number }[] = [];
  const log = createLogger("a program", "info", { write: (line) => lines.push(JSON.parse(line)) });
  using _reports = reportTo({ clock, log, registry });
  for (let i = 0; i < 25; i += 1) reportUnexpected("page", new Error("broken"));
  reportUnexpected("timer", new Error("broken"));
  expect(lines.map(({ where }) => where)).toEqual([...Array(10).fill("page"), "timer"]);
  await clock.advance(60_000);
  reportUnexpected("page", new Error("broken"));
  expect(lines.at(-1)).toMatchObject({ where: "page", leftOut: 15 });
  const counted = await registry.getSingleMetricAsString("rouse_unexpected_errors_total");
  expect(counted).toContain('{where="page"} 26');
  expect(counted).toContain('{where="webhook"} 0');
});
