import { describe, expect, it } from "vitest";
import { corpus } from "./corpus.ts";
import { SeeingServer } from "./seen-by-node.ts";
import { nextRequest, type WireCase } from "./wire-case.ts";
import { type Message, readWire } from "./wire-reader.ts";

const nobodyKnows = /^(?:BREW|get|!)/;

/** The messages that node:http passes to a request listener: no tunnels, no unknown methods, only ASCII in a target. */
function isForListener({ method, target, asksUpgrade }: Message): boolean {
  return method !== "CONNECT" && !asksUpgrade && !nobodyKnows.test(method) && !/[\x80-\xff]/.test(target);
}

/** A stream whose messages we accept, and one more request if another one may follow. */
function sound({ name, wire }: WireCase) {
  const bytes = Buffer.from(wire, "latin1");
  const reading = readWire("request", bytes);
  if (reading.refusal !== undefined || reading.isCut || reading.messages.length === 0) return [];
  if (!reading.messages.every(isForListener)) return [];
  const goesOn = reading.messages.at(-1)?.keepsAlive;
  const sent = goesOn ? Buffer.concat([bytes.subarray(0, reading.end), Buffer.from(nextRequest)]) : bytes;
  const messages = readWire("request", sent).messages;
  return [
    {
      name,
      sent,
      wanted: messages.map(({ method, target, fields, body, trailers }) => ({
        method,
        target,
        fields,
        body,
        trailers,
      })),
    },
  ];
}

describe("a server on node:http", () => {
  const streams = corpus.filter(({ side }) => side === "request").flatMap(({ cases }) => cases.flatMap(sound));

  it("reads exactly the requests that we accept, in order on one connection", async () => {
    await using server = new SeeingServer();
    await server.listen();
    for (const { name, sent, wanted } of streams) {
      expect(await server.see(sent, wanted.length), name).toEqual(wanted);
    }
    expect(streams.length).toBeGreaterThan(40);
  });
});
