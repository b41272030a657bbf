import { type ClientSessionOptions, constants } from "node:http2";
import { streamWindowBytes } from "../front/session-options.ts";

/** The maximum size of the fields of a response, and of its trailers, in bytes as HTTP/2 counts them (RFC 9113, 6.5.2). */
const fieldsBytesMax = 65_536;
const fieldsMax = 256;

/** The maximum memory of one connection in nghttp2, in megabytes. */
const sessionMegabytesMax = 32;

/** How many frames of a connection may be invalid. */
const invalidFramesMax = 100;

const undeclared = {
  maxSessionInvalidFrames: invalidFramesMax,
  strictSingleValueFields: false,
};

/** The limits of one connection to a sandbox that nghttp2 and Node enforce. */
export const podSessionOptions: ClientSessionOptions = {
  ...undeclared,
  settings: { enablePush: false, initialWindowSize: streamWindowBytes, maxHeaderListSize: fieldsBytesMax },
  maxSessionMemory: sessionMegabytesMax,
  maxHeaderListPairs: fieldsMax,
  // A request was measured by the front.
  maxSendHeaderBlockLength: 2 ** 20,
  maxReservedRemoteStreams: 0,
  paddingStrategy: constants.PADDING_STRATEGY_NONE,
};
