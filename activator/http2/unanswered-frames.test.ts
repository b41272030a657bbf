import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { answersPing, beginCalls, openFrameSandbox, pingOf } from "../../test/support/grpc/frame-sandbox.ts";
import { endsStream, openFrameClient, settingsOf } from "../../test/support/http2-frames.ts";
import { openProxyPath } from "../../test/support/proxy-path.ts";

/** nghttp2 keeps 1,000 answers to PING and SETTINGS that are not sent yet. They are sent after each read. */
const [fewer, more] = [900, 1_100];

const kinds = [
  { name: "PING", flood: pingOf("flood") },
  { name: "SETTINGS", flood: settingsOf([3, 100]) },
];

describe("frames of one read that need an answer", () => {
  it.each(kinds)("of $name: a sandbox may send 900, and is cut after 1,100", async ({ flood }) => {
    await using sandbox = await openFrameSandbox();
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    await sandbox.taken();
    sandbox.send(...Array.from({ length: fewer }, () => flood));
    await sandbox.taken();
    expect([path.sessions, client.frames.some(endsStream(1))]).toEqual([1, false]);
    sandbox.send(...Array.from({ length: more }, () => flood));
    await client.until(endsStream(1));
    await eventually(() => path.sessions === 0);
  });

  it.each(kinds)("of $name: a client may send 900, and is cut after 1,100", async ({ flood }) => {
    await using sandbox = await openFrameSandbox();
    await using path = await openProxyPath(sandbox.port);
    using client = await openFrameClient(path.port);
    await beginCalls(client, [1], sandbox);
    client.send(...Array.from({ length: fewer }, () => flood), pingOf("all"));
    await client.until(answersPing("all"));
    expect(path.offences).toEqual([]);
    client.send(...Array.from({ length: more }, () => flood));
    await eventually(() => path.offences.length === 1);
    expect(path.offences).toEqual(["flood"]);
  });
});
