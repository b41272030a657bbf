import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { lastNotes, type WatchdogShare } from "./watchdog.ts";

// The thread of a watchdog. It writes by system calls alone: what a worker prints otherwise goes through the thread that stands still.

const checkEveryMs = 100;
/** A process that is not run by a busy machine stands still too, but takes no time of a processor. */
const idleFactor = 10;
const { counts, notes, title, standstillMs, rssBytesMax } = workerData as WatchdogShare;

let beats = -1;
let stillSinceMs = performance.now();
let usedBefore = process.cpuUsage();

setInterval(() => {
  const nowMs = performance.now();
  const now = Atomics.load(counts, 0);
  if (now !== beats) {
    stillSinceMs = nowMs;
    usedBefore = process.cpuUsage();
  }
  beats = now;
  const used = process.cpuUsage(usedBefore);
  const busyMs = (used.user + used.system) / 1_000;
  const { rss } = process.memoryUsage();
  const stillMs = nowMs - stillSinceMs;
  if (Math.min(stillMs, busyMs) > standstillMs || stillMs > idleFactor * standstillMs) {
    end(`the event loop has stood still for ${Math.round(stillMs)} ms`);
  }
  if (rss > rssBytesMax) end("too much memory");

  function end(why: string): void {
    writeSync(2, `${title}: ${why}; the process holds ${Math.round(rss / 2 ** 20)} MiB\n${lastNotes(counts, notes)}\n`);
    process.kill(process.pid, "SIGKILL");
  }
}, checkEveryMs);
