import type { HeaderPair, WebForm } from "../request.ts";

/** The flag of the frame that ends a response of gRPC-Web. */
const trailersFlag = 0x80;

/** The end of a response of gRPC-Web: the trailers of gRPC as the last frame of the body. */
export function trailerFrame(trailers: Iterable<HeaderPair>): Buffer {
  let text = "";
  for (const [name, value] of trailers) text += `${name}: ${value}\r\n`;
  const frame = Buffer.alloc(5 + text.length);
  frame[0] = trailersFlag;
  frame.writeUInt32BE(text.length, 1);
  frame.write(text, 5, "latin1");
  return frame;
}

/**
 * A part of the body in the form that the client takes. Text has its padding in each part, so that the client can read each message
 * as it comes.
 */
export function webBytes(bytes: Buffer, { takesText }: WebForm): Buffer {
  return takesText ? Buffer.from(bytes.toString("base64"), "latin1") : bytes;
}

/** The fields of every response of gRPC-Web. The page may read all fields: no credentials of a browser come with its call. */
export function webFields({ takesText, codec, origin }: WebForm): HeaderPair[] {
  const type: HeaderPair = ["content-type", `application/grpc-web${takesText ? "-text" : ""}${codec}`];
  if (origin === undefined) return [type];
  return [type, ["access-control-allow-origin", origin], ["access-control-expose-headers", "*"], ["vary", "origin"]];
}
