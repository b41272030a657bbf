import { describe, expect, it } from "vitest";
import { listeningPortsLimit } from "../../api/between-programs/drain-protocol.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { ScriptedActivators } from "../../test/support/labs/front-lab.ts";
import { Confirmer } from "./confirmer.ts";

function aConfirmer(call?: ScriptedActivators["call"]) {
  const clock = new FakeClock();
  const activators = new ScriptedActivators();
  activators.are({ address: "10.0.0.1" });
  const news: string[] = [];
  const resting: number[] = [];
  const onNews = (uid: string) => void news.push(uid);
  const confirmer = new Confirmer({
    ...{ finder: activators, call: call ?? activators.call, clock, log: silentLogger, onNews },
    onResting: (ports) => void resting.push(...ports),
  });
  const asked = () => activators.asked.map(({ ports }) => ports.map(({ activatorPort }) => activatorPort));
  return { clock, activators, news, resting, confirmer, asked };
}

const first = "uid-of-10.0.0.1";

describe("asking activators whether they listen", () => {
  it("reports ports that one of them does not open, with the sandboxes that they were for", async () => {
    const { clock, activators, confirmer, news, resting } = aConfirmer();
    await using _ = confirmer;
    activators.rests = ({ activatorPort }) => activatorPort === 10_001;
    confirmer.want("a", [10_000]);
    confirmer.want("b", [10_001]);
    await clock.advance(100);
    expect(resting).toContain(10_001);
    expect(news).toContain("b");
    expect(
      [10_000, 10_001].map((activatorPort) => confirmer.listens(first, { activatorPort, sandboxUid: "a" })),
    ).toEqual([true, false]);
  });

  it("is one question for all that is asked at once, and none when all is said", async () => {
    const { clock, confirmer, news, asked } = aConfirmer();
    await using _ = confirmer;
    confirmer.want("a", [10_000, 10_001]);
    confirmer.want("b", [10_002]);
    expect(confirmer.missing).toBe(3);
    await clock.advance(60_000);
    expect(asked()).toEqual([[10_000, 10_001, 10_002]]);
    expect(news).toEqual(["a", "b"]);
    expect(confirmer.missing).toBe(0);
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_001 })).toBe(true);
    expect(confirmer.listens(first, { sandboxUid: "b", activatorPort: 10_001 })).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it("is done again, ever more rarely, about what was not confirmed, and nothing new waits for that", async () => {
    const { clock, activators, confirmer, asked } = aConfirmer();
    await using _ = confirmer;
    activators.accepts = (_host, { activatorPort }) => activatorPort !== 10_000;
    confirmer.want("a", [10_000]);
    await clock.advance(60_000);
    const often = asked().length;
    expect(often).toBeGreaterThan(5);
    expect(often).toBeLessThan(12);
    confirmer.want("b", [10_001]);
    await clock.advance(50);
    expect(confirmer.listens(first, { sandboxUid: "b", activatorPort: 10_001 })).toBe(true);
    activators.accepts = () => true;
    await clock.advance(30_000);
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_000 })).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("is done again soon about what is new, however long something else is left unconfirmed", async () => {
    const { clock, activators, confirmer } = aConfirmer();
    await using _ = confirmer;
    activators.accepts = () => false;
    confirmer.want("a", [10_000]);
    await clock.advance(60_000);
    confirmer.want("b", [10_001]);
    await clock.advance(50);
    activators.accepts = (_host, { activatorPort }) => activatorPort === 10_001;
    await clock.advance(500);
    expect(confirmer.listens(first, { sandboxUid: "b", activatorPort: 10_001 })).toBe(true);
  });

  it("is done again also while ever more is left unconfirmed", async () => {
    const { clock, activators, confirmer } = aConfirmer();
    await using _ = confirmer;
    activators.accepts = () => false;
    confirmer.want("a", [10_000]);
    await clock.advance(60_000);
    activators.accepts = (_host, { activatorPort }) => activatorPort === 10_000;
    for (let at = 1; at <= 50; at += 1) {
      confirmer.want(`uid-${at}`, [10_000 + at]);
      await clock.advance(25);
    }
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_000 })).toBe(true);
  });

  it("asks no more at once than an activator answers", async () => {
    const { clock, confirmer, asked } = aConfirmer();
    await using _ = confirmer;
    for (let at = 0; at < listeningPortsLimit + 10; at += 1) confirmer.want(`uid-${at}`, [10_000 + at]);
    await clock.advance(1_000);
    expect(asked().map(({ length }) => length)).toEqual([listeningPortsLimit, 10]);
  });

  it("survives activators that do not answer, or answer something else", async () => {
    const answers: (() => unknown)[] = [() => Promise.reject(new Error("reset")), () => ({ ports: "all" })];
    const { clock, confirmer } = aConfirmer(async (_address, _path, body) => (answers.shift() ?? (() => body))());
    await using _ = confirmer;
    confirmer.want("a", [10_000]);
    await clock.advance(2_000);
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_000 })).toBe(true);
  });

  it("starts again with another run of an activator, and forgets unrequested ports", async () => {
    const { clock, activators, confirmer, asked } = aConfirmer();
    await using _ = confirmer;
    confirmer.want("a", [10_000]);
    await clock.advance(50);
    activators.are({ address: "10.0.0.1", run: 2 });
    confirmer.activatorsChanged();
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_000 })).toBe(false);
    await clock.advance(50);
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_000 })).toBe(true);
    confirmer.want("a", []);
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_000 })).toBe(false);
    expect(asked().length).toBe(2);
  });

  it("asks about both sandboxes that were given one port", async () => {
    const { clock, activators, confirmer } = aConfirmer();
    await using _ = confirmer;
    activators.accepts = (_host, { sandboxUid }) => sandboxUid === "a";
    confirmer.want("a", [10_000]);
    confirmer.want("b", [10_000]);
    await clock.advance(1_000);
    expect(confirmer.listens(first, { sandboxUid: "a", activatorPort: 10_000 })).toBe(true);
    expect(confirmer.listens(first, { sandboxUid: "b", activatorPort: 10_000 })).toBe(false);
  });

  it("does not ask on when it is stopped", async () => {
    const { clock, activators, confirmer } = aConfirmer();
    activators.accepts = () => false;
    confirmer.want("a", [10_000]);
    await clock.advance(50);
    await confirmer[Symbol.asyncDispose]();
    expect(clock.pending).toBe(0);
  });
});
