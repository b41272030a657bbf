import { Session } from "node:inspector/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { getActiveResourcesInfo } from "node:process";
import type { Page, Pages } from "../../lib/net/page-server.ts";
import type { Clock } from "../../lib/time/clock.ts";

export interface Profiles extends AsyncDisposable {
  readonly pages: Pages;
}

// The paths and parameters that `go tool pprof` uses.
const defaultSeconds = 30;
const secondsMax = 300;
/** Of each so many bytes allocated one place is remembered: Go's rate, half a per cent of the time. */
const heapSamplingBytes = 524_288;

const json = (value: unknown): Page => ({ contentType: "application/json", body: JSON.stringify(value) });
const text = (body: string, status = 200): Page => ({ status, contentType: "text/plain", body });
const notHere = (what: string) => () => text(`there is no ${what} of a program that runs on Node\n`, 501);

/**
 * What comes nearest to the profiles of a Go program, under the same paths. Profiles of the processor and of memory
 * are in the format that browsers' developer tools read (`.cpuprofile`, `.heapprofile`).
 */
export async function startProfiles(extent: "cpu" | "all", clock: Clock): Promise<Profiles> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  const cpu = cpuProfile(session, clock);
  if (extent === "cpu") {
    return { pages: { "/debug/pprof/profile": cpu }, [Symbol.asyncDispose]: async () => session.disconnect() };
  }
  await session.post("HeapProfiler.startSampling", { samplingInterval: heapSamplingBytes });
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const heap = async () => json((await session.post("HeapProfiler.getSamplingProfile")).profile);
  const inMs = (nanoseconds: number) => `${(nanoseconds / 1e6).toFixed(1)} ms`;
  const pages: Pages = {
    "/debug/pprof/profile": cpu,
    "/debug/fgprof": cpu,
    "/debug/pprof/heap": heap,
    "/debug/pprof/allocs": heap,
    "/debug/pprof/cmdline": () => text(process.argv.join("\0")),
    "/debug/pprof/goroutine": () => text(counted(getActiveResourcesInfo())),
    "/debug/pprof/block": () =>
      text(
        `delay of the event loop: p50 ${inMs(delay.percentile(50))}, p99 ${inMs(delay.percentile(99))}, most ${inMs(delay.max)}\n`,
      ),
    "/debug/pprof/mutex": notHere("lock"),
    "/debug/pprof/symbol": notHere("table of symbols"),
    "/debug/pprof/trace": notHere("execution trace"),
  };
  const index = () => text(`${Object.keys(pages).join("\n")}\n`);
  return {
    pages: { ...pages, "/debug/pprof/": index },
    async [Symbol.asyncDispose]() {
      delay.disable();
      session.disconnect();
    },
  };
}

/** A profile of the next `seconds` seconds; one at a time. */
function cpuProfile(session: Session, clock: Clock): (query: URLSearchParams) => Promise<Page> {
  let running = false;
  return async (query) => {
    const seconds = Number(query.get("seconds") ?? defaultSeconds);
    if (!(seconds > 0 && seconds <= secondsMax))
      return text(`seconds must be above 0, and ${secondsMax} at most\n`, 400);
    if (running) return text("a profile is being made already\n", 500);
    running = true;
    try {
      await session.post("Profiler.start");
      await clock.sleep(seconds * 1_000);
      return json((await session.post("Profiler.stop")).profile);
    } finally {
      running = false;
    }
  };
}

/** What keeps the process alive, by kind: the nearest to what its goroutines wait for. */
function counted(kinds: readonly string[]): string {
  const groups = Object.entries(Object.groupBy(kinds, (kind) => kind));
  return groups.map(([kind, all = []]) => `${all.length} ${kind}\n`).join("");
}
