import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that take longest, by waits that are part of the test or by their computation. Most are small, so the usual order
 * of a first run, by size, would start them last, when nothing else is left to run beside them. The tests of the kubelet and
 * of the node agent start hundreds of processes, which takes the longer, the more memory the parent has: a process that has run
 * many files has much.
 */
export const longest: readonly string[] = [
  "test/local/",
  "local/kubelet/",
  "node/agent/",
  "test/model/handshake.test.ts",
  "activator/http1/proxy/kept-heads.test.ts",
  "test/together/busy-probe.test.ts",
  "test/http1/schedules/",
  "test/foreign-text/expressions.test.ts",
  "test/foreign-text/readers.test.ts",
  "test/sleep/",
  "controller/webhook/hostile-reviews.test.ts",
  "test/malformed/malformed.test.ts",
  "test/controller/start.test.ts",
  "test/controller/life-of-a-sleep.test.ts",
  "activator/tcp-front/open-connections.test.ts",
  "controller/claim/exactly-once.test.ts",
  "controller/tcp-front/roll-out.test.ts",
];

/**
 * Starts the files that need a process of their own, then the longest files. The others follow as usual: by their last duration,
 * or by size in a first run.
 *
 * Vitest ends a process that files share when the next file needs its own. Between the others, these few files cost five
 * more processes, and each loads all modules.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    const ranks = new Map(usual.map((file) => [file, rankOf(file)]));
    return usual.toSorted((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0));
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  const isLong = longest.some((path) => moduleId.includes(`/${path}`));
  return (project.config.isolate ? 0 : 2) + (isLong ? 0 : 1);
}
