import { describe, expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { ApiError, ApiUnreachable } from "./errors.ts";
import { answerLimitMs, untilAnswered } from "./until-answered.ts";

const answer = (code: number) =>
  new ApiError(code, { apiVersion: "v1", kind: "Status", message: `the server says ${code}` });

function open() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const attempts: number[] = [];
  const begin = (failures: () => Error | undefined) =>
    untilAnswered({ clock, log: silentLogger, what: "make a thing", signal: stop.signal }, async () => {
      attempts.push(clock.ticksMs());
      const failure = failures();
      if (failure) throw failure;
      return "made";
    });
  return { clock, stop, attempts, begin };
}

/** Lets all of the limit pass, and more. */
async function passAll(clock: FakeClock): Promise<void> {
  for (let passedMs = 0; passedMs < answerLimitMs + 60_000; passedMs += 1_000) await clock.advance(1_000);
}

describe("what a program cannot start without", () => {
  it.each([
    ["refused", new ApiUnreachable("connect ECONNREFUSED")],
    ["overloaded", answer(429)],
    ["broken", answer(500)],
    ["away behind a load balancer", answer(503)],
    ["too slow", answer(504)],
  ])("is attempted again while the API server is %s, after ever longer pauses", async (_how, failure) => {
    const { clock, attempts, begin } = open();
    let left = 8;
    const made = begin(() => (left-- > 0 ? failure : undefined));
    await passAll(clock);
    expect(await made).toBe("made");
    const pauses = attempts.slice(1).map((atMs, index) => atMs - (attempts[index] ?? 0));
    expect(pauses).toHaveLength(8);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(12_000);
    expect(pauses[7]).toBeGreaterThan(4 * (pauses[0] ?? 0));
  });

  it.each([400, 401, 403, 404, 422])(
    "is given up at once, with the reason, if the API server answers %i",
    async (code) => {
      const { attempts, begin } = open();
      await expect(begin(() => answer(code))).rejects.toThrow(`cannot make a thing: the server says ${code}`);
      expect(attempts).toHaveLength(1);
    },
  );

  it("is given up with an error of its own at once", async () => {
    const own = new TypeError("no API server can help");
    await expect(open().begin(() => own)).rejects.toBe(own);
  });

  it("is given up after ten minutes, with the last reason", async () => {
    const { clock, begin } = open();
    const last = new ApiUnreachable("connect ECONNREFUSED");
    const ended = begin(() => last).catch((error: unknown) => error);
    await passAll(clock);
    const error = await ended;
    expect(error).toMatchObject({
      message: expect.stringContaining("for 10 minutes the API server could not be reached, or was overloaded"),
      cause: last,
    });
  });

  it("is given up when the program is told to end", async () => {
    const { clock, stop, attempts, begin } = open();
    const ended = begin(() => new ApiUnreachable("connect ECONNREFUSED")).catch((error: unknown) => error);
    await clock.advance(100);
    const told = new Error("received SIGTERM");
    stop.abort(told);
    expect(await ended).toBe(told);
    expect(attempts).toHaveLength(1);
  });
});
