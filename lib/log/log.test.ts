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

  it("has every field, also one with the name of the prototype of objects", () => {
    const { log, lines } = recording();
    log.info({ review: JSON.parse('{"__proto__": {"kind": "Sandbox"}}') }, "read");
    expect(lines[0]).toContain('"review":{"__proto__":{"kind":"Sandbox"}}');
  });

  it("writes dates, and marks circular references", () => {
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
    { where: "in a field of an error", fields: { err: failed } },
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

  it("is removed from the line, not from the logged object", () => {
    const { log } = recording();
    const headers = { authorization: secret };
    log.info({ headers }, "hello");
    expect(headers.authorization).toBe(secret);
  });
});

describe("a line of the log", () => {
  it("has only the beginning of a long text, and its length", () => {
    const { log, lines } = recording();
    const refusal = "x".repeat(500_000);
    const failed = new Error(refusal, { cause: new Error(refusal) });
    log.error({ err: new AggregateError([failed, failed, failed], refusal), refusal }, "oops");
    const written = lines.join("");
    expect(written.length).toBeLessThan(100_000);
    expect(written).toContain("xxx... (500000 characters)");
  });

  it("has only the beginning of a long list, and its length", () => {
    const { log, lines } = recording();
    log.info({ all: Array.from({ length: 5_000 }, (_, at) => at) }, "hello");
    expect(lines.join("")).toContain('99,"... and 4900 more"]');
  });
});
