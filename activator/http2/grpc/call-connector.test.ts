import { expect, it } from "vitest";
import type { RequestHead } from "../../request.ts";
import { CallConnector } from "./call-connector.ts";
import type { PodSessions } from "./pod-sessions.ts";

const target = { namespace: "default", podUid: "p1", ip: "10.0.0.1", port: 80, probes: [], young: false };
const headOf = (grpc?: RequestHead["grpc"]): RequestHead => ({
  ...{ method: "POST", protocol: "gRPC", target: "/", host: "", headers: [], peer: "", upgrade: false },
  grpc,
});

it("a connection that calls share is given to calls alone", () => {
  const socket = {};
  const sessions = { socketFor: () => socket } as unknown as PodSessions;
  const connector = new CallConnector({ idle: () => undefined } as never, sessions);
  expect(connector.idle(target, headOf({ timeoutMs: undefined }))?.socket).toBe(socket);
  expect(connector.idle(target, headOf())).toBeUndefined();
  expect(connector.idle(target, undefined)).toBeUndefined();
});
