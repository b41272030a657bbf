import { callFields } from "../support/grpc/frame-sandbox.ts";
import { messageFrame } from "../support/grpc/web-frames.ts";
import {
  flag,
  frame,
  frameOf,
  getFields,
  headersOf,
  numberOf,
  preface,
  settingsOf,
  uint32,
} from "../support/http2-frames.ts";

const nova = [["x-sandbox-id", "nova"]] as const;
const call = (type: string) =>
  [...callFields.filter(([name]) => name !== "content-type"), ["content-type", type], ...nova] as const;

const request = (stream: number) => headersOf(stream, getFields(...nova));
const openRequest = (stream: number) => headersOf(stream, call("application/octet-stream"), flag.endHeaders);
const grpc = headersOf(1, call("application/grpc"), flag.endHeaders);
const grpcWeb = headersOf(1, call("application/grpc-web"), flag.endHeaders);
const data = (bytes: Buffer, flags = 0, stream = 1) => frameOf({ type: frame.data, flags, stream }, bytes);
const block = (bytes: Buffer) =>
  frameOf({ type: frame.headers, flags: flag.endHeaders | flag.endStream, stream: 1 }, bytes);

/** Bodies of calls that no client sends: a flag without a meaning, a length without its message, a part of a length, trailers. */
const badBodies = [
  messageFrame("text", 0x7f),
  messageFrame("text", 0x80),
  Buffer.from([0, 255, 255, 255, 255]),
  Buffer.from([0, 0]),
  Buffer.concat([messageFrame("one"), Buffer.from([1])]),
  Buffer.from("not base64 !"),
];

/** What comes after a valid preface and valid settings. */
const afterSettings: readonly (readonly Buffer[])[] = [
  // Frames on streams that do not exist, were never opened, or cannot have them.
  [data(Buffer.from("x"))],
  [frameOf({ type: frame.data, stream: 0 })],
  [headersOf(0, getFields()), headersOf(2, getFields())],
  [request(5), request(3)],
  [request(1), request(1), data(Buffer.from("late"))],
  [frameOf({ type: frame.settings, stream: 1 })],
  [frameOf({ type: frame.ping, stream: 1 }, Buffer.alloc(8))],
  [frameOf({ type: frame.pushPromise, flags: flag.endHeaders, stream: 1 }, uint32(2))],
  [frameOf({ type: frame.continuation, flags: flag.endHeaders, stream: 1 })],
  [frameOf({ type: frame.headers, stream: 1 }), frameOf({ type: frame.ping }, Buffer.alloc(8))],
  [frameOf({ type: frame.priority, stream: 1 }, uint32(1))],
  // Wrong lengths, and wrong contents.
  [frameOf({ type: frame.ping }, Buffer.alloc(7))],
  [frameOf({ type: frame.settings }, Buffer.alloc(5))],
  [frameOf({ type: frame.settings, flags: flag.ack }, Buffer.alloc(6))],
  [settingsOf([4, 2 ** 32 - 1])],
  [settingsOf([5, 1])],
  [settingsOf([2, 7])],
  [frameOf({ type: frame.goaway }, Buffer.alloc(3))],
  [frameOf({ type: frame.reset, stream: 1 }, uint32(8))],
  [openRequest(1), frameOf({ type: frame.reset, stream: 1 }, Buffer.alloc(2))],
  [openRequest(1), frameOf({ type: frame.windowUpdate, stream: 1 }, uint32(0))],
  [openRequest(1), frameOf({ type: frame.windowUpdate, stream: 1 }, uint32(2 ** 31 - 1))],
  [openRequest(1), frameOf({ type: frame.data, flags: flag.padded, stream: 1 }, Buffer.from([255, 1]))],
  [openRequest(1), data(Buffer.alloc(20_000))],
  [frameOf({ type: frame.data, stream: 1 }, Buffer.alloc(0)).subarray(0, 5)],
  [Buffer.from("00ffffff00000000", "hex")],
  // Blocks of fields that cannot be read: an index of nothing, a number without an end, a text that is longer than its block.
  [block(Buffer.from([0x80]))],
  [block(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))],
  [block(Buffer.concat([Buffer.from([0]), numberOf(1_000_000, 7), Buffer.from("x")]))],
  [block(Buffer.from([0x3f, 0xe1, 0xff, 0x7f]))],
  // Requests that HTTP does not allow.
  [headersOf(1, [])],
  [headersOf(1, getFields([":path", "/"]))],
  [headersOf(1, getFields(["Upper", "case"], ["connection", "close"]))],
  [headersOf(1, getFields(["x", "line\r\nx: y"]))],
  [headersOf(1, getFields(["content-length", "5"]))],
  [headersOf(1, [[":method", "CONNECT"], [":protocol", "websocket"], [":path", "/"], [":scheme", "http"], ...nova])],
  // Calls of gRPC and of gRPC-Web that break off, are cancelled, or carry no message.
  ...badBodies.flatMap((body) => [
    [grpc, data(body, flag.endStream)],
    [grpcWeb, data(body, flag.endStream)],
    [grpcWeb, data(body), frameOf({ type: frame.reset, stream: 1 }, uint32(8))],
  ]),
  [grpc, headersOf(1, [["grpc-status", "0"]])],
  [headersOf(1, [...call("application/grpc"), ["grpc-timeout", "99999999999S"]])],
  [headersOf(1, call("application/grpc-web-text")), data(Buffer.from("===="), flag.endStream)],
];

/** Messages of clients of HTTP/2 that begin as the protocol says, and then break it. */
export const http2Messages: readonly Buffer[] = afterSettings.map((frames) =>
  Buffer.concat([preface, settingsOf(), ...frames]),
);

/** Calls of gRPC-Web over HTTP/1.1 that no client sends. */
export const grpcWebMessages: readonly Buffer[] = badBodies.flatMap((body) =>
  ["application/grpc-web", "application/grpc-web-text", "application/grpc-web+"].map((type) => {
    const head = `POST /a/B HTTP/1.1\r\nHost: a\r\nX-Sandbox-ID: nova\r\nContent-Type: ${type}\r\n`;
    return Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]);
  }),
);
