import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { Activity } from "./activity.ts";
import { type KeepOpenDeps, keepOpen } from "./keep-open.ts";
import { KeptConnections } from "./kept-connections.ts";
import { PodFences } from "./pod-fences.ts";

const nova = aSandbox();
const { uid, name, namespace = "" } = nova.metadata;

/** An open connection to the Pod p1, and what came of it. */
function given(cluster: KeepOpenDeps["cluster"] = { sandbox: () => nova }, closesAtOnce = true) {
  const clock = new FakeClock();
  const activity = new Activity(clock);
  const seen = { closes: 0, counted: 0, stirs: 0 };
  const openConnections = new KeptConnections(() => (seen.counted += 1));
  const fences = new PodFences({
    onFenced: (sandboxUid, podUid) => closesAtOnce && openConnections.closeAll(sandboxUid, podUid),
    hasPod: () => false,
  });
  const use = activity.useBy(undefined);
  use.begin(nova);
  use.sentTo("p1");
  const target = { namespace: "default", podUid: "p1", ip: "127.0.0.1", port: 5432, probes: [], young: false };
  const ends: (() => void)[] = [];
  const onEnded = (end: () => void) => void ends.push(end);
  const stay = { to: { namespace, name, port: 5432 }, target, use, onEnded };
  const deps = { clock, fences, openConnections, cluster, onMoved: () => (seen.stirs += 1) };
  const connection = keepOpen({ close: () => (seen.closes += 1) }, stay, deps);
  const fence = () => fences.fence(uid, "p1");
  const inFlight = () => activity.loadOf(uid, "p1").sent;
  return { clock, seen, connection, fence, inFlight, openConnections, end: () => ends[0]?.() };
}

describe("an open connection whose Pod is fenced", () => {
  it("is closed at once if its client awaits no answer", () => {
    const { seen, connection, fence } = given();
    connection.clientSpoke();
    connection.sandboxSpoke();
    fence();
    expect(seen).toEqual({ closes: 1, counted: 1, stirs: 2 });
  });

  it("is left alone once its sandbox has done its part, and is in flight no more", () => {
    const { seen, connection, fence, inFlight } = given();
    connection.clientSpoke();
    connection.requestEnded();
    expect(inFlight()).toBe(1);
    connection.sandboxEnded();
    expect(inFlight()).toBe(0);
    connection.clientSends();
    connection.clientSpoke();
    connection.requestEnded();
    fence();
    expect([seen.closes, inFlight()]).toEqual([0, 0]);
  });

  it("is kept while its client waits, causes no wake, and is closed 1 s after the answer began", async () => {
    const { clock, seen, connection, fence, inFlight } = given();
    connection.clientSpoke();
    expect(seen.stirs).toBe(1);
    fence();
    await clock.advance(20_000);
    connection.clientSpoke();
    connection.sandboxSpoke();
    await clock.advance(999);
    connection.sandboxSpoke();
    expect([seen.closes, inFlight()]).toEqual([0, 1]);
    await clock.advance(1);
    expect([seen.closes, inFlight()]).toEqual([1, 0]);
    expect(seen).toEqual({ closes: 1, counted: 1, stirs: 1 });
  });

  it("is closed when its limit has passed and the controller asks again", async () => {
    const { clock, seen, connection, fence, openConnections } = given();
    connection.clientSpoke();
    fence();
    await clock.advance(3_600_000);
    expect(seen.closes).toBe(0);
    openConnections.closeAll(uid, "p1");
    openConnections.closeAll(uid, "p1");
    expect(seen).toMatchObject({ closes: 1, counted: 1 });
  });

  it("closes before its turn if its client sends", () => {
    const { seen, connection, fence, openConnections } = given(undefined, false);
    connection.clientSends();
    fence();
    expect(seen.closes).toBe(0);
    connection.clientSends();
    expect(seen.closes).toBe(1);
    openConnections.closeAll(uid, "p1");
    expect(seen).toMatchObject({ closes: 1, counted: 1 });
  });

  it("is kept for its client's unanswered data, though that client sends more before its turn", () => {
    const { seen, connection, fence, inFlight } = given(undefined, false);
    connection.clientSpoke();
    fence();
    connection.clientSends();
    expect([seen.closes, inFlight()]).toEqual([0, 1]);
  });

  it("is closed also if its sandbox was deleted before it opened", () => {
    const { seen, openConnections } = given({ sandbox: () => undefined });
    openConnections.closeAll("", "p1");
    expect(seen).toMatchObject({ closes: 1, counted: 1 });
  });

  it("is not closed again if it has ended meanwhile", async () => {
    const { clock, seen, connection, fence, end } = given();
    connection.clientSpoke();
    fence();
    connection.sandboxSpoke();
    end();
    await clock.advance(5_000);
    expect(seen).toMatchObject({ closes: 0, counted: 0 });
  });
});
