import { crc32c } from "../../../lib/data/crc32c.ts";

/** The signature of version 2. */
export const signature: Buffer = Buffer.from("0d0a0d0a000d0a515549540a", "hex");

export interface Version2 {
  readonly versionAndCommand?: number;
  readonly family?: number;
  /** Behind the fixed part. */
  readonly block?: Buffer;
  /** As it is stated. Absent: that of the block. */
  readonly length?: number;
}

export function version2({
  versionAndCommand = 0x21,
  family = 0x11,
  block = ipv4Block("192.0.2.1"),
  length,
}: Version2 = {}): Buffer {
  const head = Buffer.from([versionAndCommand, family, 0, 0]);
  head.writeUInt16BE(length ?? block.length, 2);
  return Buffer.concat([signature, head, block]);
}

export const ipv4Block = (source: string): Buffer =>
  Buffer.from([...source.split(".").map(Number), ...[10, 0, 0, 1], ...[0x80, 0x01], ...[0x01, 0xbb]]);

/** `source`: 32 digits in hexadecimal. */
export const ipv6Block = (source: string): Buffer => Buffer.from(`${source}${"00".repeat(15)}01800101bb`, "hex");

export const extra = (type: number, value: Buffer): Buffer => {
  const head = Buffer.from([type, 0, 0]);
  head.writeUInt16BE(value.length, 1);
  return Buffer.concat([head, value]);
};

/** A header with a checksum at its end, which is off by that much. */
export function withChecksum(header: Version2, off = 0): Buffer {
  const { block = ipv4Block("192.0.2.1") } = header;
  const bytes = version2({ ...header, block: Buffer.concat([block, extra(3, Buffer.alloc(4))]) });
  bytes.writeUInt32BE((crc32c(bytes) + off) >>> 0, bytes.length - 4);
  return bytes;
}

export const version1 = (text: string): Buffer => Buffer.from(`PROXY ${text}\r\n`, "latin1");
