import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { AutoSuspension } from "../../api/kinds/sandbox.ts";
import { observed, promised } from "../../test/support/drain-questions.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openTcpWorld, talkTo, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";

/** A connection to a sandbox that says nothing by itself, and its two ends. */
async function given(autoSuspension: AutoSuspension = {}) {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await openTcpWorld());
  const seen = { heard: "", ending: "" };
  const sockets: Socket[] = [];
  const program = tcpProgram((socket) => {
    sockets.push(socket);
    socket.on("data", (bytes: Buffer) => (seen.heard += bytes.toString())).on("end", () => (seen.heard += "<end>"));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => (seen.ending = code ?? ""));
  });
  await world.awake("nova", program, { autoSuspension });
  const client = opened.use(await talkTo(await world.front("nova")));
  await eventually(() => sockets.length === 1);
  const closing = opened.move();
  return {
    ...{ world, client, seen },
    server: { say: (text: string) => void sockets[0]?.write(text), end: () => void sockets[0]?.end() },
    hears: (text: string) => eventually(() => seen.heard.includes(text)),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe("a raw connection whose client has ended its side when its Pod is fenced", () => {
  it.each([
    { what: "openConnections is Ignore", autoSuspension: { openConnections: "Ignore" } },
    { what: "the limit of unanswered data is 0", autoSuspension: { unansweredLimitSeconds: 0 } },
  ] as const)("is reset on both sides if its sandbox has not answered, where $what", async ({ autoSuspension }) => {
    await using lab = await given(autoSuspension);
    lab.client.send("job");
    lab.client.socket.end();
    await lab.hears("job<end>");
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    expect(await lab.client.over()).toBe("reset");
    await eventually(() => {
      lab.server.say("the answer");
      return lab.seen.ending !== "";
    });
  });

  it("is reset if that came after the suspension was observed", async () => {
    await using lab = await given();
    expect(await observed(lab.world, 1)).toMatchObject({ inFlight: 0 });
    lab.client.send("too late");
    lab.client.socket.end();
    await lab.hears("too late<end>");
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    expect(await lab.client.over()).toBe("reset");
  });

  it("is reset if its sandbox pauses within the answer", async () => {
    await using lab = await given();
    lab.client.send("job");
    lab.client.socket.end();
    await lab.hears("job<end>");
    expect(await promised(lab.world)).toEqual({ inFlight: 1 });
    lab.server.say("half of ");
    expect(await lab.client.over()).toBe("reset");
    expect(lab.client.received).toBe("half of ");
  });

  it("ends if its sandbox ends the answer within a second", async () => {
    await using lab = await given({ openConnections: "Ignore" });
    lab.client.send("job");
    lab.client.socket.end();
    await lab.hears("job<end>");
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    lab.server.say("the whole");
    lab.server.end();
    expect(await lab.client.over()).toBe("ended");
    expect(lab.client.received).toBe("the whole");
    expect(lab.seen.ending).toBe("");
  });
});

describe("a raw connection whose client goes on, and ends its side, after its Pod was fenced", () => {
  it("is reset for the sandbox, which has got a part alone", async () => {
    await using lab = await given({ openConnections: "Ignore" });
    lab.client.send("a part");
    await lab.hears("a part");
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    lab.client.send(" and the rest");
    lab.client.socket.end();
    await eventually(() => lab.seen.ending === "ECONNRESET");
    expect(lab.seen.heard).toBe("a part");
    expect(await lab.client.over()).toBe("reset");
  });
});

describe("a raw connection whose sandbox has ended its side when its Pod is fenced", () => {
  it("is reset for the sandbox, whose client may be within its upload, and ends for the client", async () => {
    await using lab = await given({ openConnections: "Ignore" });
    lab.server.say("send it");
    lab.server.end();
    expect(await lab.client.over()).toBe("ended");
    lab.client.send("a part");
    await lab.hears("a part");
    expect(await promised(lab.world)).toEqual({ inFlight: 0 });
    await eventually(() => lab.seen.ending === "ECONNRESET");
    expect(lab.seen.heard).toBe("a part");
    expect(lab.client.received).toBe("send it");
  });
});
