import { describe, expect, it } from "vitest";
import { createLogger, type LogLevel } from "./log.ts";

function recording(level: LogLevel = "info") {
  const lines: string[] = [];
  const log = createLogger("test", level, { write: (line) => void lines.push(line) });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? "{}") };
}

describe("a log entry", () => {
  it("is one line of JSON with its level in words, a time, and the logger it came from", () => {
    const { log, lines, last } = recording();
    log.info({ key: "team/nova", durationMs: 3 }, "reconciled");
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith("\n")).toBe(true);
    expect(last()).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      program: "test",
      key: "team/nova",
      durationMs: 3,
      msg: "reconciled",
    });
  });

  it("below the level is not written", () => {
    const { log, lines } = recording("warn");
    log.info("quiet");
    log.warn("loud");
    expect(lines).toHaveLength(1);
  });

  it("with an error has its message, its stack and its cause", () => {
    const { log, last } = recording();
    log.error({ err: new Error("outer", { cause: new Error("inner") }) }, "it broke");
    expect(last()).toMatchObject({
      msg: "it broke",
      err: { type: "Error", message: "outer", cause: { message: "inner" } },
    });
    expect(last().err.stack).toContain("log.test.ts");
  });

  it("with several errors at once has the stack of each once", () => {
    const { log, lines, last } = recording();
    log.warn({ err: new AggregateError([new Error("first"), new Error("second")], "both failed") }, "it broke");
    expect(last().err).toMatchObject({
      message: "both failed",
      aggregateErrors: [{ message: "first" }, { message: "second" }],
    });
    expect(lines.join("").match(/"stack"/g)).toHaveLength(2);
  });

  it("that is an error alone has its message", () => {
    const { log, last } = recording();
    log.error(new Error("alone"));
    expect(last()).toMatchObject({ msg: "alone", err: { message: "alone" } });
  });

  it("says what dates and circles are", () => {
    const { log, last } = recording();
    const circle: Record<string, unknown> = { at: new Date("2026-03-01T12:00:00Z") };
    circle["self"] = circle;
    log.info({ circle, again: circle }, "round");
    const written = { at: "2026-03-01T12:00:00.000Z", self: "[circular]" };
    expect(last()).toMatchObject({ circle: written, again: written });
  });
});

describe("a credential", () => {
  const secret = "s3cr3t";
  const failed = Object.assign(new Error("refused"), { response: { headers: { "set-cookie": [secret] } } });

  it.each([
    { where: "in a field", fields: { authorization: secret } },
    { where: "in whatever case", fields: { Authorization: secret } },
    {
      where: "of a request",
      fields: { request: { headers: { authorization: secret, "proxy-authorization": secret } } },
    },
    {
      where: "of a kubeconfig",
      fields: { config: { users: [{ user: { token: secret, "client-key-data": secret } }] } },
    },
    { where: "of a user as the client library holds it", fields: { user: { keyData: secret, password: secret } } },
    { where: "in what an error carries", fields: { err: failed } },
    { where: "in the cause of something else", fields: { detail: { failed } } },
  ])("$where is never written", ({ fields }) => {
    const { log, lines } = recording();
    log.error(fields, "oops");
    expect(lines.join("")).not.toContain(secret);
    expect(lines.join("")).toContain("[redacted]");
  });

  it("among the fields of a child logger is never written", () => {
    const { log, lines } = recording();
    log.child({ token: secret }).info("hello");
    expect(lines.join("")).not.toContain(secret);
  });

  it("is taken out of the line, not out of the object that was logged", () => {
    const { log } = recording();
    const headers = { authorization: secret };
    log.info({ headers }, "hello");
    expect(headers.authorization).toBe(secret);
  });
});
