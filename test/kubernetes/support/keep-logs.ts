import { existsSync, globSync, linkSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { release } from "../../../cluster/install-chart.ts";
import type { Layout } from "../../../cluster/layout.ts";
import { systemClock } from "../../../lib/time/clock.ts";

const checkEveryMs = 500;

/** The logs of all containers of the release since the tests began, those of Pods that are gone too. */
export const keptLogsOf = ({ directory }: Layout): string => join(directory, "logs", "kept");

/** A log goes with its Pod; a second name for it does not. Until it is disposed of, every log gets one. */
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
        // It went while it was looked at.
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
