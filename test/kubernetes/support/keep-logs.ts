import { existsSync, globSync, linkSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Layout } from "../../../cluster/layout.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { systemClock } from "../../../lib/time/clock.ts";

const checkEveryMs = 500;

/** The logs of all containers of the release since the start of the tests, including those of deleted Pods. */
export const keptLogsOf = ({ directory }: Layout): string => join(directory, "logs", "kept");

/** A log is deleted with its Pod, but a hard link of it stays. Creates a hard link of every log until it is disposed of. */
export function keepLogs(layout: Layout): Disposable {
  const kept = keptLogsOf(layout);
  const pods = join(layout.var, "log", "pods");
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(kept, { recursive: true });
  const look = () => {
    for (const file of globSync(`${release.namespace}_*/*/*.log`, { cwd: pods })) {
      try {
        const name = `${file.replaceAll("/", "_")}-${statSync(join(pods, file)).ino}`;
        if (!existsSync(join(kept, name))) linkSync(join(pods, file), join(kept, name));
      } catch (error) {
        // It was deleted meanwhile.
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
    }
  };
  const stop = new AbortController();
  void (async () => {
    while (!stop.signal.aborted) {
      look();
      await systemClock.sleep(checkEveryMs, stop.signal).catch(() => {});
    }
  })();
  return { [Symbol.dispose]: () => stop.abort() };
}
