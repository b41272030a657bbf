import { isIPv4, isIPv6 } from "node:net";
import { addressText } from "./address-text.ts";
import { type HeaderStep, incomplete, refusedAs } from "./header-step.ts";

export const startOfVersion1: Buffer = Buffer.from("PROXY ", "latin1");

/** The maximum bytes of the line, with CRLF. */
const lineBytesMax = 107;

const lineFeed = 10;
const carriageReturn = 13;

/** Reads the line of version 1. */
export function readVersion1(bytes: Buffer): HeaderStep {
  const line = bytes.subarray(0, lineBytesMax);
  const returnAt = line.indexOf(carriageReturn);
  const feedAt = line.indexOf(lineFeed);
  const mayFollow = feedAt < 0 && (returnAt < 0 || returnAt === line.length - 1);
  if (mayFollow) return line.length < lineBytesMax ? incomplete : refusedAs("TooLong");
  if (feedAt !== returnAt + 1) return refusedAs("Malformed"); // neither is legal without the other
  return readLine(line.toString("latin1", startOfVersion1.length, returnAt), feedAt + 1);
}

function readLine(line: string, length: number): HeaderStep {
  if (line === "UNKNOWN" || line.startsWith("UNKNOWN ")) return { is: "complete", length, clientIp: undefined };
  const [family, source = "", destination = "", ...ports] = line.split(" ");
  const isAddress = family === "TCP4" ? isIPv4 : family === "TCP6" ? isPlainIPv6 : undefined;
  const isRight = isAddress?.(source) && isAddress(destination) && ports.length === 2 && ports.every(isPort);
  return isRight ? { is: "complete", length, clientIp: addressText(source) } : refusedAs("Malformed");
}

/** Without the name of an interface, which means nothing on another machine. */
const isPlainIPv6 = (text: string): boolean => isIPv6(text) && !text.includes("%");

/** Without leading zeros. */
const isPort = (text: string): boolean => /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
