import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";
import { measuringFiles } from "./test/support/measuring-files.ts";

const everything = ["**/*.test.ts"];
const otherSuites = [
  "node_modules/**",
  "test/kubernetes/**",
  "test/kubectl/**",
  "test/activator/protocols/**",
  "test/soak/*.test.ts",
];
const measuring = measuringFiles(everything, otherSuites);

export default defineConfig({
  test: {
    projects: [
      // A process for each of hundreds of files costs half as much again as the tests: files share one, and clean up.
      {
        extends: true,
        test: { name: "shared", include: everything, exclude: [...otherSuites, ...measuring], isolate: false },
      },
      // These collect all garbage many times. In a process that has run other files, each time takes four times as long.
      { extends: true, test: { name: "alone", include: measuring, isolate: true } },
    ],
    pool: "forks",
    // Node itself loads the sources, as it does for our programs. Vite's transformed modules take a fifth more processor time.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Tests allocate much and keep little: with room for the young objects of some tests, a fifth less processor time. The
    // workers keep all processors busy, so a thread that helps one of them to collect garbage only delays another.
    execArgv: ["--min-semi-space-size=64", "--max-semi-space-size=64", "--single-threaded-gc"],
    sequence: { sequencer: LongestFirst },
    // Most tests wait for processes and sockets: four workers left two processors unused for a fifth of the time.
    maxWorkers: 6,
    // A test takes milliseconds or a few seconds. On a machine with several times as much work it must not fail.
    testTimeout: 30_000,
    // A busy machine may need the tool's own limit, which is a second, for nothing at all.
    expect: { poll: { timeout: 10_000, interval: 20 } },
    hookTimeout: 30_000,
    // Tests start our programs a hundred times: each then starts in half the processor time.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/compile", import.meta.url)) },
  },
});
