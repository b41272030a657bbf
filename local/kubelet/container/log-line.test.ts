import { expect, it } from "vitest";
import { entryStart, parseLogLine } from "./log-line.ts";

const line = { time: "2026-01-01T00:00:00.000Z", stream: "stderr", text: "it  is F cold", partial: false } as const;

it("writes a line as container runtimes do, and reads it back", () => {
  const entry = `${entryStart(line)}${line.text}\n`;
  expect(entry).toBe("2026-01-01T00:00:00.000Z stderr F it  is F cold\n");
  expect(parseLogLine(entry.slice(0, -1))).toEqual(line);
});

it.each(["", "2026-01-01T00:00:00.000Z", "garbage stdin F x"])("does not read %j", (entry) => {
  expect(parseLogLine(entry)).toBeUndefined();
});
