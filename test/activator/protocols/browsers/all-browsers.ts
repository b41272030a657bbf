import { startChromium } from "./chromium.ts";
import { startFirefox } from "./firefox.ts";
import { type Browser, installed } from "./remote.ts";

export interface Installed {
  readonly name: string;
  /** Undefined: it is not installed. */
  readonly path: string | undefined;
  readonly start: (path: string) => Promise<Browser>;
}

/** The browsers that tests drive. `certificatePin`: as of `startChromium`. */
export function allBrowsers(certificatePin: string): readonly Installed[] {
  const browsers: readonly Installed[] = [
    {
      name: "Chromium",
      path: installed("chromium", "chromium-browser", "google-chrome"),
      start: (path) => startChromium(path, certificatePin),
    },
    { name: "Firefox", path: installed("firefox-esr", "firefox"), start: startFirefox },
  ];
  for (const { name, path } of browsers) {
    if (path === undefined) process.stderr.write(`skipped: ${name} is not on the PATH\n`);
  }
  return browsers;
}

/** A browser starts in seconds. On a machine with several times as much work it takes more than a minute. */
export const browserLimitMs = 300_000;
