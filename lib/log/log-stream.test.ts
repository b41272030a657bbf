import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";

const at = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);

/** A supervised program in a process of its own. `body` has `log`, `say`, `dropped`, `stop` and `aborted`. */
const program = (body: string) => `
  import { Registry } from "prom-client";
  import { systemClock } from ${at("../time/clock.ts")};
  import { aborted, endProcess } from ${at("../process/lifecycle.ts")};
  import { createLogger } from ${at("../log/log.ts")};
  import { stayAlive } from ${at("../process/stay-alive.ts")};
  import { runSupervised } from ${at("../process/supervise.ts")};
  const registry = new Registry();
  const log = createLogger("a program");
  const say = (line) => process.stdout.write(line + "\\n");
  const sleep = (ms) => systemClock.sleep(ms);
  const dropped = async () =>
    Number(/^rouse_log_lines_dropped_total (\\d+)$/m.exec(await registry.metrics())?.[1]);
  endProcess(await runSupervised(process, { clock: systemClock, log, registry, endLimitMs: 10_000 }, async (stop) => {
    using _alive = stayAlive();
    ${body}
  }));
`;

function start(body: string, stderr: number | "pipe"): ChildProcess {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program(body)], {
    stdio: ["ignore", "pipe", stderr],
    cwd: import.meta.dirname,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** Its standard output, line by line. */
function hear({ stdout }: ChildProcess): AsyncIterator<string> {
  if (!stdout) throw new Error("no standard output");
  return createInterface({ input: stdout })[Symbol.asyncIterator]();
}

const readLog = ({ stderr }: ChildProcess) => (stderr ? text(stderr) : Promise.resolve(""));

/** 40 MB, in numbered lines. */
const flood = `for (let n = 0; n < 40_000; n += 1) log.info({ n, filler: "x".repeat(1_000) }, "flood");`;

describe("a log", () => {
  it("on a full disk costs lines, and neither the program nor its end", async () => {
    const full = openSync("/dev/full", "w");
    const child = start(
      `log.info("first"); log.info("second"); while ((await dropped()) < 2) await sleep(5); say(await dropped()); await aborted(stop);`,
      full,
    );
    closeSync(full);
    const said = hear(child);
    expect((await said.next()).value).toBe("2");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("whose reader is gone loses lines, but stops neither the program nor its exit", async () => {
    const body = `while ((await dropped()) === 0) { log.info("again"); await sleep(5); } say("dropped");`;
    const child = start(body, "pipe");
    child.stderr?.destroy();
    const said = hear(child);
    expect((await said.next()).value).toBe("dropped");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("without a reader keeps a limited number of lines in memory, and the program exits in time", async () => {
    const child = start(`${flood} say(await dropped()); await aborted(stop);`, "pipe");
    const said = hear(child);
    expect(Number((await said.next()).value)).toBeGreaterThan(30_000);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("that is read again reports the dropped lines, and its lines are whole and in order", async () => {
    const child = start(`${flood} say("flooded"); await aborted(stop); log.info("last");`, "pipe");
    const said = hear(child);
    await said.next();
    const reading = readLog(child);
    let read = "";
    child.stderr?.on("data", (chunk) => {
      read += chunk;
      if (read.includes("log lines dropped")) child.kill("SIGTERM");
    });
    const lines = (await reading).trimEnd().split("\n");
    const entries = lines.map((line) => JSON.parse(line));
    const floods = entries.flatMap(({ n }) => (n === undefined ? [] : [n]));
    const reported = entries.filter(({ msg }) => msg === "log lines dropped");
    expect(floods).toEqual(floods.map((_, index) => index));
    expect(floods.length + reported.reduce((sum, { lines: dropped }) => sum + dropped, 0)).toBe(40_000);
    expect(entries.at(-1)?.msg).toBe("last");
  });

  it("is complete if the program exits right after its last line", async () => {
    const child = start(
      `for (let n = 0; n < 3_000; n += 1) log.info({ n, filler: "x".repeat(1_000) }, "flood");`,
      "pipe",
    );
    const lines = (await readLog(child)).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).n)).toEqual(Array.from({ length: 3_000 }, (_, n) => n));
  });

  it("in a file keeps its order if the program exits while a large part is being written", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rouse-log-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "log");
    const errors = openSync(file, "w");
    // A thread has just begun to write three megabytes when the program exits.
    const body = `
      const { standardErrorLog } = await import(${at("./log-stream.ts")});
      const lines = Array.from({ length: 3_000 }, (_, n) => JSON.stringify({ n, filler: "x".repeat(1_000) }) + "\\n");
      standardErrorLog().write(lines.join(""));
      setImmediate(() => { log.info({ n: 3_000 }, "last"); process.exit(0); });
      await aborted(stop);`;
    const child = start(body, errors);
    closeSync(errors);
    expect(await once(child, "exit")).toEqual([0, null]);
    const numbers = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).n);
    expect(numbers).toEqual(Array.from({ length: 3_001 }, (_, n) => n));
  });
});
