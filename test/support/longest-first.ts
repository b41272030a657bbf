import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that take longest, by waits that are part of the test or by their computation. Most are small, so the usual order
 * of a first run, by size, would start them last, when nothing else is left to run beside them.
 */
export const longest: readonly string[] = [
  "test/local/",
  "test/model/handshake.test.ts",
  "activator/http1/proxy/kept-heads.test.ts",
  "test/together/busy-probe.test.ts",
  "test/http1/schedules/",
  "test/foreign-text.test.ts",
  "test/sleep/",
  "controller/webhook/hostile-reviews.test.ts",
  "test/malformed/malformed.test.ts",
  "test/controller/start.test.ts",
  "test/controller/life-of-a-sleep.test.ts",
  "controller/suspension/handshake/resume.test.ts",
  "activator/tcp-front/open-connections.test.ts",
  "controller/claim/exactly-once.test.ts",
  "controller/tcp-front/roll-out.test.ts",
];

/** Starts the longest files first. The others follow as usual: by their last duration, or by size in a first run. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => longest.some((path) => moduleId.includes(`/${path}`));
    const usual = await super.sort(files);
    return [...usual.filter(isLong), ...usual.filter((file) => !isLong(file))];
  }
}
