import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { AutoSuspension } from "../../api/kinds/sandbox.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { observed, promised } from "../../test/support/drain-questions.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openTcpWorld, type TcpWorld, talkTo, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";

/** A connection to a sandbox that says nothing by itself, and its two ends. */
async function given(autoSuspension: AutoSuspension = {}) {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await openTcpWorld());
  const heard: string[] = [];
  const sockets: Socket[] = [];
  const program = tcpProgram((socket) => {
    sockets.push(
      socket.on("data", (bytes: Buffer) => void heard.push(bytes.toString())).on("end", () => heard.push("<end>")),
    );
  });
  await world.awake("nova", program, { autoSuspension });
  const client = opened.use(await talkTo(await world.front("nova")));
  await eventually(() => sockets.length === 1);
  const closing = opened.move();
  return {
    world,
    client,
    server: { say: (text: string) => void sockets[0]?.write(text), end: () => void sockets[0]?.end() },
    hears: (text: string) => eventually(() => heard.join("").includes(text)),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Asked of a generation that is over, which binds it to nothing. */
const inFlight = async (world: TcpWorld) => (await observed(world, -1)).inFlight;

describe("unanswered data on a raw connection", () => {
  it("is in flight until the sandbox sends a byte", async () => {
    await using lab = await given();
    expect(await inFlight(lab.world)).toBe(0);
    lab.client.send("select pg_sleep(9);");
    await lab.hears("pg_sleep");
    expect(await inFlight(lab.world)).toBe(1);
    lab.server.say(".");
    await lab.client.until(".");
    expect(await inFlight(lab.world)).toBe(0);
  });

  it("is in flight after its client ended its side, and gets its answer", async () => {
    await using lab = await given();
    lab.client.send("job");
    lab.client.socket.end();
    await lab.hears("job<end>");
    expect(await inFlight(lab.world)).toBe(1);
    expect(await promised(lab.world)).toEqual({ inFlight: 1 });
    lab.server.say("done");
    lab.server.end();
    expect(await lab.client.over()).toBe("ended");
    expect(lab.client.received).toBe("done");
    await eventually(async () => (await inFlight(lab.world)) === 0);
  });

  it("is in flight until the client resets", async () => {
    await using lab = await given();
    lab.client.send("job");
    await lab.hears("job");
    lab.client.socket.resetAndDestroy();
    await eventually(async () => (await inFlight(lab.world)) === 0);
  });

  it.each([
    { what: "the limit is 0", autoSuspension: { unansweredLimitSeconds: 0 } },
    { what: "openConnections is Ignore", autoSuspension: { openConnections: "Ignore" } },
  ] as const)("is not in flight where $what", async ({ autoSuspension }) => {
    await using lab = await given(autoSuspension);
    lab.client.send("job");
    await lab.hears("job");
    expect(await inFlight(lab.world)).toBe(0);
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    expect(await lab.client.over()).toBe("ended");
  });

  it("is in flight until the current limit of the spec", async () => {
    await using lab = await given();
    lab.client.send("job");
    await lab.hears("job");
    expect(await promised(lab.world)).toEqual({ inFlight: 1 });
    const spec = { autoSuspension: { unansweredLimitSeconds: 0 } };
    await lab.world.api.client.patch(
      sandboxType,
      { namespace: "default", name: "nova" },
      { type: "merge", body: { spec } },
    );
    await eventually(async () => (await promised(lab.world)).inFlight === 0);
    expect(await lab.client.over()).toBe("ended");
  });
});

describe("a connection with unanswered data at the promise", () => {
  it("is kept until it has the whole answer, and then ends without a reset", async () => {
    await using lab = await given();
    lab.client.send("job");
    await lab.hears("job");
    expect(await promised(lab.world)).toEqual({ inFlight: 1 });
    lab.server.say("one ");
    await lab.client.until("one ");
    expect(await promised(lab.world)).toEqual({ inFlight: 1 });
    lab.server.say("two");
    expect(await lab.client.over()).toBe("ended");
    expect(lab.client.received).toBe("one two");
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    await eventually(() => lab.world.hasMetric("rouse_activator_connections_closed_for_sleep_total 1"));
    // What moved on it asked for no other Pod.
    expect((await lab.world.sandbox("nova")).metadata.generation).toBe(1);
  });

  it("is closed if the data came after the suspension was observed", async () => {
    await using lab = await given();
    expect(await observed(lab.world, 1)).toMatchObject({ inFlight: 0 });
    lab.client.send("too late");
    await lab.hears("too late");
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    expect(await lab.client.over()).toBe("ended");
  });

  it("is kept if that suspension was cancelled before the data came", async () => {
    await using lab = await given();
    await observed(lab.world, 1);
    // The generation after the one that was observed: Running again, for all that this replica sees.
    for (const inactivityTimeoutSeconds of [60, 61]) {
      const body = { spec: { autoSuspension: { inactivityTimeoutSeconds } } };
      await lab.world.api.client.patch(sandboxType, { namespace: "default", name: "nova" }, { type: "merge", body });
    }
    await eventually(async () => (await observed(lab.world, -1)).superseded === true);
    lab.client.send("in time");
    await lab.hears("in time");
    expect(await promised(lab.world)).toEqual({ inFlight: 1 });
  });
});
