import { blockOf, flag, frame, frameOf, preface, settingsOf, uint32 } from "../support/http2-frames.ts";

const widest = 2 ** 31 - 1;
const idleStream = 1_001;
const one = Buffer.from("x");
const windowOf = (stream: number, by: number) => frameOf({ type: frame.windowUpdate, stream }, uint32(by));

/** Frames for which a connection must end (RFC 9113, 5.4.1), whichever side sends them. They name stream 1, or one that nobody has opened. */
export const forbiddenFrames: Readonly<Record<string, Buffer>> = {
  "DATA on stream 0": frameOf({ type: frame.data }, one),
  "DATA on an idle stream": frameOf({ type: frame.data, stream: idleStream }, one),
  "DATA with more padding than payload": frameOf({ type: frame.data, flags: flag.padded, stream: 1 }, Buffer.from([9])),
  "a frame that is too large": frameOf({ type: frame.data, stream: 1 }, Buffer.alloc(16_385)),
  "HEADERS that HPACK cannot read": frameOf({ type: frame.headers, flags: 5, stream: 3 }, Buffer.alloc(6, 0xff)),
  "HEADERS on stream 0": frameOf({ type: frame.headers, flags: 5 }, blockOf([["x-a", "1"]])),
  "HEADERS on a stream of the other side": frameOf(
    { type: frame.headers, flags: 5, stream: 4 },
    blockOf([["x-a", "1"]]),
  ),
  "a PRIORITY of four bytes": frameOf({ type: frame.priority, stream: 1 }, Buffer.alloc(4)),
  "a RST_STREAM of an idle stream": frameOf({ type: frame.reset, stream: idleStream }, uint32(8)),
  "a RST_STREAM of three bytes": frameOf({ type: frame.reset, stream: 1 }, Buffer.alloc(3)),
  "SETTINGS of five bytes": frameOf({ type: frame.settings }, Buffer.alloc(5)),
  "SETTINGS with a window that is too large": settingsOf([4, widest + 1]),
  "SETTINGS on a stream": frameOf({ type: frame.settings, stream: 1 }),
  "a PUSH_PROMISE": frameOf({ type: frame.pushPromise, flags: flag.endHeaders, stream: 1 }, uint32(2)),
  "a PING of seven bytes": frameOf({ type: frame.ping }, Buffer.alloc(7)),
  "a PING on a stream": frameOf({ type: frame.ping, stream: 1 }, Buffer.alloc(8)),
  "a GOAWAY of three bytes": frameOf({ type: frame.goaway }, Buffer.alloc(3)),
  "a GOAWAY on a stream": frameOf({ type: frame.goaway, stream: 1 }, Buffer.alloc(8)),
  "a WINDOW_UPDATE of an idle stream": windowOf(idleStream, 1),
  "a WINDOW_UPDATE of 0": windowOf(0, 0),
  // The first is allowed if the window is used up.
  "a WINDOW_UPDATE that is too large": Buffer.concat([windowOf(0, widest), windowOf(0, widest)]),
  "a WINDOW_UPDATE of three bytes": frameOf({ type: frame.windowUpdate }, Buffer.alloc(3)),
  "a CONTINUATION of nothing": frameOf({ type: frame.continuation, stream: 1 }, one),
  "a second preface": preface,
};

/** A GOAWAY. */
export const goawayOf = (last: number, code = 0): Buffer =>
  frameOf({ type: frame.goaway }, Buffer.concat([uint32(last), uint32(code)]));
