import { expect, it } from "vitest";
import { FakeClock } from "../time/clock.ts";
import { FailureLog } from "./failure-log.ts";
import { createLogger } from "./log.ts";

function aLog() {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = new FailureLog(createLogger("test", "info", { write: (line) => void lines.push(line) }), clock);
  const last = (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? "{}") as Record<string, unknown>;
  return { clock, lines, log, last };
}

it("failed reconciles of a namespace are logged at a rate, and the next line says how many were not", async () => {
  const { clock, lines, log, last } = aLog();
  for (let at = 0; at < 300; at += 1) log.failed(`noisy/s-${at}`, new Error("no"), 1);
  expect(lines).toHaveLength(20);
  log.failed("other/s", new Error("no"), 7);
  expect(lines).toHaveLength(21);
  expect(last()).toMatchObject({ key: "other/s", failures: 7, leftOut: 280 });
  await clock.advance(1_000);
  log.failed("noisy/s-0", new Error("no"), 1);
  expect(lines).toHaveLength(22);
  expect(last()).not.toHaveProperty("leftOut");
});

it("a long error is logged in short, and a short one with its stack", () => {
  const { lines, log, last } = aLog();
  const long = new Error("x".repeat(70_000));
  log.failed("a/nova", new AggregateError([long, long], long.message, { cause: long }), 1);
  expect(lines[0]?.length).toBeLessThan(1_500);
  log.failed("a/nova", new Error("no"), 1);
  expect(last()).toMatchObject({ err: { message: "no", stack: expect.stringContaining("failure-log.test") } });
});
