import { constants, type ServerOptions } from "node:http2";
import { requestHeadLimits } from "../../http1/parse/request-head-parser.ts";

/**
 * The maximum number of concurrent streams of one connection. A client with more opens further connections or, of gRPC, keeps calls
 * back. RFC 9113 (6.5.2) recommends at
 * least 100. More than that, because Node counts a stream until all of its body was read: if it has been answered before, a client that
 * always has as many as it may gets ENHANCE_YOUR_CALM for the next one now and then.
 */
export const streamsPerConnection = 250;

/**
 * The initial window of a stream, in bytes: how much of its body a client may send before the sandbox takes it, and the maximum of
 * a body that is kept for a held request.
 */
export const streamWindowBytes = 65_535;

/**
 * The maximum number of fields that nghttp2 reads of a request. With more than HTTP/1.1 allows it is answered with 431. Browsers send each
 * cookie as a field of its own. An unfinished head with 4,000 fields of one byte was measured to take a megabyte.
 */
export const fieldsMax = 512;
/** How much larger than HTTP/1.1 allows a head may be to be read and answered with 431. A larger one is reset unread. */
const headsFactor = 2;
/** What HTTP/2 adds to each field in the size of a list of fields, in bytes (RFC 9113, 6.5.2). */
const fieldOverheadBytes = 32;

/**
 * The maximum memory of one connection in nghttp2 and Node, in megabytes. Beyond it Node refuses streams, and closes the connection after 100
 * of them. So it has to be out of reach: each stream keeps one write of at most 128 KiB there, 33 MB together.
 */
const sessionMegabytesMax = 40;

/** How many streams a client may reset at once, and for each second. Browsers reset all streams of a page that is left. */
const resetsAtOnce = 1_000;
const resetsPerSecond = 33;

/** How many frames of a connection may be invalid, and how many streams may be opened beyond the limits, until it is closed. */
const invalidFramesMax = 100;
const rejectedStreamsMax = 100;

/** The maximum size of the fields of one head, as HTTP/2 counts them. `maxHeaderBytes`: that of a head of HTTP/1.1. */
export const listBytesMax = (maxHeaderBytes: number): number =>
  headsFactor * maxHeaderBytes + fieldOverheadBytes * requestHeadLimits.fieldsMax;

/** The limits of one connection that nghttp2 and Node enforce. */
export function sessionOptions(maxHeaderListSize: number): ServerOptions {
  const undeclared = {
    maxSessionInvalidFrames: invalidFramesMax,
    maxSessionRejectedStreams: rejectedStreamsMax,
    // A sandbox's fields are judged before they come here.
    strictSingleValueFields: false,
  };
  return {
    ...undeclared,
    settings: {
      enableConnectProtocol: true,
      maxConcurrentStreams: streamsPerConnection,
      initialWindowSize: streamWindowBytes,
      maxHeaderListSize,
    },
    maxSessionMemory: sessionMegabytesMax,
    maxHeaderListPairs: fieldsMax,
    // nghttp2 counts what a head might need at most. The head of a sandbox was measured before.
    maxSendHeaderBlockLength: headsFactor * maxHeaderListSize,
    streamResetBurst: resetsAtOnce,
    streamResetRate: resetsPerSecond,
    // Data goes out unpadded.
    paddingStrategy: constants.PADDING_STRATEGY_NONE,
  };
}
