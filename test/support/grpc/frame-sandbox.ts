import type { Socket } from "node:net";
import { eventually } from "../eventually.ts";
import {
  type FrameClient,
  flag,
  frame,
  frameOf,
  headersOf,
  preface,
  type SeenFrame,
  settingsOf,
  takeFrame,
} from "../http2-frames.ts";
import { openBackend } from "../proxy-path.ts";

/** The fields of a call of gRPC, and of its response. */
export const callFields = [
  [":method", "POST"],
  [":scheme", "http"],
  [":authority", "nova.test"],
  [":path", "/"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
] as const;
export const responseFields = [
  [":status", "200"],
  ["content-type", "application/grpc"],
] as const;

/** A DATA frame of one byte. */
export const byteOf = (stream: number): Buffer => frameOf({ type: frame.data, stream }, Buffer.from("x"));
export const pingOf = (text: string): Buffer => frameOf({ type: frame.ping }, Buffer.from(text.padEnd(8)));
/** Whether this answers that PING: all that was sent before it has been taken. */
export const answersPing =
  (text: string) =>
  ({ type, flags, payload }: SeenFrame): boolean =>
    type === frame.ping && (flags & flag.ack) !== 0 && payload.equals(Buffer.from(text.padEnd(8)));

export const settingsAck: Buffer = frameOf({ type: frame.settings, flags: flag.ack });

/** A sandbox that sends any frames, and counts those that it gets. */
export interface FrameSandbox extends AsyncDisposable {
  readonly port: number;
  /** The number of calls that have begun. */
  readonly calls: number;
  /** The number of calls whose request has ended with data. */
  readonly ends: number;
  /** The codes of the resets that have come. */
  readonly resets: readonly number[];
  /** The number of connections that were opened. */
  readonly connections: number;
  /** The number of them that are open. */
  readonly open: number;
  /** To the connection that has sent something last, or was opened last. */
  send(...frames: readonly Buffer[]): void;
  /** Closes the connections on which no byte has come. */
  closeUnused(): void;
  /** Resolves once the activator has taken all that was sent. */
  taken(): Promise<void>;
}

/** It sends its settings once the preface has come, or leaves that to the test. */
export async function openFrameSandbox(settings: Buffer | "later" = settingsOf()): Promise<FrameSandbox> {
  let last: Socket | undefined;
  const unused = new Set<Socket>();
  let [calls, ends, pings, connections] = [0, 0, 0, 0];
  const answered = new Set<string>();
  const resets: number[] = [];
  const see = (seen: SeenFrame) => {
    if (seen.type === frame.headers) calls += 1;
    if (seen.type === frame.data && (seen.flags & flag.endStream) !== 0) ends += 1;
    if (seen.type === frame.reset) resets.push(seen.payload.readUInt32BE());
    if (seen.type === frame.ping) answered.add(seen.payload.toString().trim());
  };
  const backend = await openBackend((socket) => {
    last = socket;
    connections += 1;
    unused.add(socket);
    let rest = Buffer.alloc(0);
    let isGreeted = false;
    socket.on("data", (bytes: Buffer) => {
      unused.delete(socket);
      last = socket;
      rest = Buffer.concat([rest, bytes]);
      if (!isGreeted && rest.length < preface.length) return;
      if (!isGreeted) {
        isGreeted = true;
        rest = rest.subarray(preface.length);
        if (settings !== "later") socket.write(Buffer.concat([settings, settingsAck]));
      }
      for (let seen = takeFrame(rest); seen; seen = takeFrame(rest)) {
        rest = rest.subarray(9 + seen.payload.length);
        see(seen);
      }
    });
  });
  return {
    port: backend.port,
    resets,
    get calls() {
      return calls;
    },
    get ends() {
      return ends;
    },
    get connections() {
      return connections;
    },
    get open() {
      return backend.open;
    },
    closeUnused() {
      for (const socket of unused) socket.destroy();
    },
    send: (...frames) => void last?.write(Buffer.concat(frames)),
    async taken() {
      pings += 1;
      const name = `p${pings}`;
      last?.write(pingOf(name));
      await eventually(() => answered.has(name), 30_000);
    },
    async [Symbol.asyncDispose]() {
      last?.destroy();
      await backend[Symbol.asyncDispose]();
    },
  };
}

/** Begins calls one after the other, so that all share one connection to the sandbox. */
export async function beginCalls(client: FrameClient, streams: readonly number[], sandbox: FrameSandbox) {
  for (const stream of streams) {
    const { calls } = sandbox;
    client.send(headersOf(stream, callFields, flag.endHeaders));
    await eventually(() => sandbox.calls > calls);
  }
}
