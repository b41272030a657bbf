import { describe, expect, it } from "vitest";
import {
  parseActivityAnswer,
  parseActivityRequest,
  parseBusyAnswer,
  parseBusyRequest,
  parseListeningPorts,
  parseObservedAnswer,
  parseObservedRequest,
  parsePromiseAnswer,
  parsePromiseRequest,
} from "./drain-protocol.ts";

const sandbox = { namespace: "lab", name: "nova", uid: "sandbox-1" };
const activity = { sandbox, inFlight: 2, idleForMs: 0, wake: { generation: 3, port: 8888, agoMs: 12.5 } };
const answer = { epoch: "e", cursor: 4, full: true, activities: [activity] };

describe("a message of the drain protocol", () => {
  it.each([
    { parse: parseObservedRequest, message: { sandbox, podUid: "pod-1", generation: 7 } },
    { parse: parseObservedAnswer, message: { inFlight: 0, idleForMs: 1.5, superseded: true } },
    { parse: parseObservedAnswer, message: { inFlight: 1 } },
    { parse: parsePromiseRequest, message: { sandbox, podUid: "pod-1" } },
    { parse: parsePromiseAnswer, message: { inFlight: 0 } },
    { parse: parseBusyRequest, message: { sandbox, podUid: "pod-1", generation: 7 } },
    { parse: parseBusyAnswer, message: { asked: true, status: 503 } },
    { parse: parseBusyAnswer, message: { asked: true } },
    { parse: parseBusyAnswer, message: { asked: false, reason: "Fenced" } },
    { parse: parseListeningPorts, message: { ports: [{ sandboxUid: "sandbox-1", activatorPort: 10_000 }] } },
    { parse: parseActivityRequest, message: { epoch: "e", cursor: 4 } },
    { parse: parseActivityRequest, message: {} },
    { parse: parseActivityAnswer, message: answer },
    { parse: parseActivityAnswer, message: { ...answer, fenced: [{ sandbox: activity.sandbox, podUid: "p" }] } },
  ])("is read as it was written, by $parse.name", ({ parse, message }) => {
    expect(parse(JSON.parse(JSON.stringify(message)))).toEqual(message);
  });

  it.each([
    { parse: parseObservedRequest, message: { sandbox, podUid: "pod-1" } },
    { parse: parseObservedRequest, message: { sandbox: { ...sandbox, uid: "" }, podUid: "pod-1", generation: 7 } },
    { parse: parseObservedAnswer, message: {} },
    { parse: parseObservedAnswer, message: { inFlight: -1 } },
    { parse: parseObservedAnswer, message: { inFlight: 0, idleForMs: "long" } },
    { parse: parsePromiseRequest, message: { sandbox } },
    { parse: parsePromiseAnswer, message: { inFlight: "0" } },
    { parse: parsePromiseAnswer, message: null },
    { parse: parseBusyRequest, message: { sandbox, podUid: "pod-1" } },
    { parse: parseBusyAnswer, message: { status: 200 } },
    { parse: parseBusyAnswer, message: { asked: true, status: "200" } },
    { parse: parseBusyAnswer, message: { asked: false, reason: "Whim" } },
    { parse: parseActivityRequest, message: [] },
    { parse: parseActivityAnswer, message: { ...answer, epoch: 1 } },
    { parse: parseActivityAnswer, message: { ...answer, activities: [activity, { ...activity, inFlight: null }] } },
  ])("is rejected if it is $message, by $parse.name", ({ parse, message }) => {
    expect(parse(message)).toBeUndefined();
  });

  it("requests everything for an incomplete cursor", () => {
    expect(parseActivityRequest({ epoch: "e" })).toEqual({});
  });
});
