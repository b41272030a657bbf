import { expect, it } from "vitest";
import { Generator } from "./generate.ts";
import { isEarly, type Kind, kinds, readsAll, type Session } from "./plan.ts";

const sessionsOf = (seed: number, client = 0, chosen: ReadonlySet<Kind> = new Set(kinds)): readonly Session[] => {
  const generator = new Generator(seed, client, chosen);
  return Array.from({ length: 400 }, () => generator.next());
};

it("the same seed gives each client the same sessions", () => {
  expect(sessionsOf(5)).toEqual(sessionsOf(5));
});

it("another seed, and another client, gives other sessions", () => {
  expect(sessionsOf(5)).not.toEqual(sessionsOf(6));
  expect(sessionsOf(5)).not.toEqual(sessionsOf(5, 1));
});

it("no two exchanges or conversations have the same number", () => {
  const ids = [...sessionsOf(5), ...sessionsOf(5, 1)].flatMap((session) => {
    if (session.kind === "http") return session.exchanges.map(({ id }) => id);
    if (session.kind === "http2") return session.streams.map(({ exchange }) => exchange.id);
    if (session.kind === "talk") return [session.talk.id];
    return "talks" in session ? session.talks.map(({ id }) => id) : [];
  });
  expect(new Set(ids).size).toBe(ids.length);
});

it("has sandboxes that answer first and then read all, whose clients may wait for the answer", () => {
  const first = sessionsOf(5).flatMap((session) =>
    session.kind === "http" ? session.exchanges.filter((plan) => isEarly(plan) && readsAll(plan)) : [],
  );
  const counts = new Map<string, number>();
  for (const { answer, upload } of first) {
    for (const what of [answer.framing, upload?.pausesAt === undefined ? "sends on" : "waits"]) {
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
  }
  for (const what of ["length", "chunked", "sends on", "waits"]) expect(counts.get(what), what).toBeGreaterThan(3);
});

it("has every kind of session except the omitted ones", () => {
  const kindsOf = (sessions: readonly Session[]) => new Set(sessions.map(({ kind }) => kind));
  const streams = ["http2", "webSockets", "calls", "webCalls"];
  expect(kindsOf(sessionsOf(5))).toEqual(new Set(["http", "talk", "crowd", "silent", ...streams]));
  expect(kindsOf(sessionsOf(5, 0, new Set<Kind>(["http"])))).toEqual(new Set(["http"]));
});
