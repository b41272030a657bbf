import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { isDnsSubdomain } from "../../api/rules/names.ts";
import { EventSeries, type NewEvent } from "./event-series.ts";

const noon = new Date("2026-01-01T12:00:00.5Z");
const at = (minutes: number) => ({ now: new Date(noon.getTime() + minutes * 60_000), ticksMs: minutes * 60_000 });
const reporter = { reportingController: "sandbox-controller", reportingInstance: "pod-1" };

const aSandbox = (name: string): KubeObject => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { namespace: "team", name, uid: `uid-of-${name}`, resourceVersion: "5" },
});
const aHappening = (changes: Partial<NewEvent> = {}): NewEvent => ({
  regarding: aSandbox("nova"),
  type: "Warning",
  reason: "MultiplePods",
  action: "Reconciling",
  note: "more than one pod",
  ...changes,
});

/** Adds events and treats all as written. */
function addAndWrite(series: EventSeries, newEvent: NewEvent, minutes: number) {
  const noted = series.add(newEvent, at(minutes));
  const write = noted && series.next(noted.key);
  if (noted && write) series.written(noted.key, write);
  return write;
}

describe("a series of events", () => {
  it("begins with an event of the object's namespace, named after the object", () => {
    const write = addAndWrite(new EventSeries(reporter), aHappening(), 0);
    expect(write).toMatchObject({
      do: "create",
      event: {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name: expect.stringMatching(/^nova\.[0-9a-f]{16}$/), namespace: "team" },
        eventTime: "2026-01-01T12:00:00.500000Z",
        reportingController: "sandbox-controller",
        reportingInstance: "pod-1",
        type: "Warning",
        reason: "MultiplePods",
        action: "Reconciling",
        note: "more than one pod",
        regarding: {
          apiVersion: "agents.x-k8s.io/v1beta1",
          kind: "Sandbox",
          namespace: "team",
          name: "nova",
          uid: "uid-of-nova",
          resourceVersion: "5",
        },
      },
    });
  });

  it("writes events of an object without a namespace into the default one", () => {
    const regarding = { kind: "Node", metadata: { name: "node-1" } };
    const write = addAndWrite(new EventSeries(reporter), aHappening({ regarding }), 0);
    expect(write?.event.metadata.namespace).toBe("default");
    expect(write?.event.regarding).toEqual({ kind: "Node", name: "node-1" });
  });

  it("counts a repeat on the existing event", () => {
    const series = new EventSeries(reporter);
    const first = addAndWrite(series, aHappening(), 0);
    const lastObservedTime = "2026-01-01T12:01:00.500000Z";
    expect(addAndWrite(series, aHappening(), 1)).toMatchObject({
      do: "patch",
      event: first?.event,
      series: { count: 2, lastObservedTime },
    });
  });

  it("reports repeats from before the first write in one second write", () => {
    const series = new EventSeries(reporter);
    const noted = series.add(aHappening(), at(0));
    series.add(aHappening(), at(1));
    series.add(aHappening(), at(2));
    const key = noted?.key ?? "";
    const first = series.next(key);
    expect(first).toMatchObject({ do: "create" });
    if (first) series.written(key, first);
    expect(series.next(key)).toMatchObject({ do: "patch", series: { count: 3 } });
    expect(series.unwritten()).toEqual([key]);
  });

  it.each<{ what: string; changes: Partial<NewEvent> }>([
    { what: "about another object", changes: { regarding: aSandbox("vega") } },
    { what: "for another reason", changes: { reason: "Other" } },
    { what: "with another note", changes: { note: "three pods" } },
  ])("treats an event $what as new", ({ changes }) => {
    const series = new EventSeries(reporter);
    addAndWrite(series, aHappening(), 0);
    expect(addAndWrite(series, aHappening(changes), 1)).toMatchObject({ do: "create" });
  });

  it("ends after six minutes without a repeat", () => {
    const series = new EventSeries(reporter);
    addAndWrite(series, aHappening(), 0);
    expect(addAndWrite(series, aHappening(), 5)).toMatchObject({ do: "patch" });
    expect(addAndWrite(series, aHappening(), 11)).toMatchObject({ do: "create" });
  });

  it("lets one object have 25 new events at once and then one in five minutes, and others theirs", () => {
    const series = new EventSeries(reporter);
    const isAllowed = (name: string, note: string, minutes: number) =>
      series.add(aHappening({ regarding: aSandbox(name), note }), at(minutes)) !== undefined;
    const allowed = Array.from({ length: 30 }, (_, number) => isAllowed("nova", `note ${number}`, 0));
    expect(allowed.filter(Boolean)).toHaveLength(25);
    expect(isAllowed("vega", "note", 0)).toBe(true);
    expect(isAllowed("nova", "later", 4)).toBe(false);
    expect(isAllowed("nova", "later", 5)).toBe(true);
    expect(isAllowed("nova", "at once again", 5)).toBe(false);
  });

  it("lets an object have a warning after 25 other new events, and the other way round", () => {
    const series = new EventSeries(reporter);
    const add = (type: NewEvent["type"], note: string) => series.add(aHappening({ type, note }), at(0)) !== undefined;
    for (let number = 0; number < 25; number += 1) add("Normal", `note ${number}`);
    expect(add("Normal", "one more")).toBe(false);
    expect(add("Warning", "lost")).toBe(true);
    for (let number = 0; number < 25; number += 1) add("Warning", `note ${number}`);
    expect(add("Warning", "one more")).toBe(false);
  });

  it("remembers at most a thousand, and drops the least recently used", () => {
    const series = new EventSeries(reporter);
    for (let number = 0; number < 1_001; number += 1) {
      series.add(aHappening({ regarding: aSandbox(`box-${number}`) }), at(0));
    }
    expect(series.unwritten()).toHaveLength(1_000);
    expect(series.unwritten()[0]).toContain("uid-of-box-1");
  });

  const inNamespace = (namespace: string, name: string) => ({
    ...aSandbox(name),
    metadata: { ...aSandbox(name).metadata, namespace, uid: `uid-of-${namespace}-${name}` },
  });

  it("drops events of the namespace that has most, and reports each", () => {
    let dropped = 0;
    const series = new EventSeries(reporter, () => {
      dropped += 1;
    });
    const quiet = series.add(aHappening({ regarding: inNamespace("quiet", "nova") }), at(0));
    for (let number = 0; number < 2_000; number += 1) {
      series.add(aHappening({ regarding: inNamespace("loud", `box-${number}`) }), at(0));
    }
    expect(series.next(quiet?.key ?? "")).toMatchObject({ do: "create" });
    expect(dropped).toBe(1_001);
  });

  it("begins its keys with the namespace, also where a note has a slash", () => {
    const series = new EventSeries(reporter);
    const added = series.add(aHappening({ regarding: inNamespace("quiet", "nova"), note: "a/b" }), at(0));
    expect(added?.key.slice(0, 6)).toBe("quiet/");
  });

  it("keeps the rate limit of an object while another namespace has events about many", () => {
    const series = new EventSeries(reporter);
    const regarding = inNamespace("quiet", "nova");
    for (let number = 0; number < 25; number += 1) series.add(aHappening({ regarding, note: `note ${number}` }), at(0));
    for (let number = 0; number < 2_000; number += 1) {
      series.add(aHappening({ regarding: inNamespace("loud", `box-${number}`) }), at(0));
    }
    expect(series.add(aHappening({ regarding, note: "one more" }), at(0))).toBeUndefined();
  });

  it.each([
    { what: "short", note: "ok", bytes: 2 },
    { what: "long", note: "x".repeat(2_000), bytes: 1_024 },
    { what: "long, of characters that fill the limit", note: "🦔".repeat(400), bytes: 1_024 },
    { what: "long, with a character across the limit", note: `x${"🦔".repeat(400)}`, bytes: 1_021 },
  ])("truncates a note to 1024 bytes of whole characters: $what", ({ note, bytes }) => {
    const write = addAndWrite(new EventSeries(reporter), aHappening({ note }), 0);
    const kept = write?.event.note ?? "";
    expect(Buffer.byteLength(kept)).toBe(bytes);
    expect(note.startsWith(kept)).toBe(true);
  });

  it("keeps no more of a note than an event has", () => {
    const series = new EventSeries(reporter);
    series.add(aHappening({ note: "x".repeat(500_000) }), at(0));
    expect(series.unwritten().join("").length).toBeLessThan(2_000);
  });

  it("truncates the name of an event to the limit", () => {
    const write = addAndWrite(new EventSeries(reporter), aHappening({ regarding: aSandbox("n".repeat(253)) }), 0);
    expect(write?.event.metadata.name).toHaveLength(253);
  });

  it.each(["-", "."])("gives an event of an object with a long name a valid name, truncated at '%s'", (cut) => {
    const name = `${"n".repeat(235)}${cut}${"n".repeat(17)}`;
    const write = addAndWrite(new EventSeries(reporter), aHappening({ regarding: aSandbox(name) }), 0);
    expect(isDnsSubdomain(write?.event.metadata.name ?? "")).toBe(true);
  });
});
