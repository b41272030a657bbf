import { crc32c } from "../../../lib/data/crc32c.ts";
import { ipv4Text } from "../../../lib/net/ipv4.ts";
import { addressText } from "./address-text.ts";
import { type HeaderStep, incomplete, refusedAs } from "./header-step.ts";

export const startOfVersion2: Buffer = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");

const fixedBytes = 16;
/** The maximum bytes behind the fixed part: addresses, and what else a proxy adds, such as a certificate of its client. */
const blockBytesMax = 4_096;

const commands = { local: 0, proxy: 1 } as const;
const families = { unspecified: 0, ipv4: 1, ipv6: 2, unix: 3 } as const;
const transports = { unspecified: 0, stream: 1, datagram: 2 } as const;
const addressBytes: Readonly<Record<number, number>> = {
  [families.ipv4]: 12,
  [families.ipv6]: 36,
  [families.unix]: 216,
};

/** Reads the binary header of version 2. `bytes` begin with its start. */
export function readVersion2(bytes: Buffer): HeaderStep {
  const [versionAndCommand, familyAndTransport] = [bytes[12], bytes[13]];
  if (versionAndCommand === undefined) return incomplete;
  const command = versionAndCommand & 0x0f;
  if (versionAndCommand >>> 4 !== 2 || command > commands.proxy) return refusedAs("Malformed");
  if (bytes.length < fixedBytes || familyAndTransport === undefined) return incomplete;
  const blockBytes = bytes.readUInt16BE(14);
  if (blockBytes > blockBytesMax) return refusedAs("TooLong");
  const length = fixedBytes + blockBytes;
  if (bytes.length < length) return incomplete;
  if (command === commands.local) return { is: "complete", length, clientIp: undefined }; // whatever its block has
  return readBlock(bytes.subarray(0, length), familyAndTransport >>> 4, familyAndTransport & 0x0f);
}

function readBlock(header: Buffer, family: number, transport: number): HeaderStep {
  if (family > families.unix || transport > transports.datagram) return refusedAs("Malformed");
  const { length } = header;
  if (family === families.unspecified || transport === transports.unspecified) {
    return { is: "complete", length, clientIp: undefined }; // where its addresses end is not known
  }
  const afterAddresses = fixedBytes + (addressBytes[family] ?? 0);
  if (length < afterAddresses) return refusedAs("Malformed");
  switch (checkExtras(header, afterAddresses)) {
    case "malformed":
      return refusedAs("Malformed");
    case "wrongChecksum":
      return refusedAs("WrongChecksum");
    case "right":
      return {
        is: "complete",
        length,
        clientIp: transport === transports.stream ? sourceOf(header, family) : undefined,
      };
  }
}

function sourceOf(header: Buffer, family: number): string | undefined {
  if (family === families.ipv4) return ipv4Text(header.readUInt32BE(fixedBytes));
  if (family === families.unix) return undefined;
  const groups = Array.from({ length: 8 }, (_, group) => header.readUInt16BE(fixedBytes + 2 * group).toString(16));
  return addressText(groups.join(":"));
}

const extraHeadBytes = 3;
const checksumType = 3;
const checksumBytes = 4;

/** Checks the type-length-value parts behind the addresses. Their values are skipped, except for the checksum. */
function checkExtras(header: Buffer, from: number): "right" | "malformed" | "wrongChecksum" {
  let checksumAt: number | undefined;
  for (let at = from; at < header.length; ) {
    if (at + extraHeadBytes > header.length) return "malformed";
    const valueAt = at + extraHeadBytes;
    const valueBytes = header.readUInt16BE(at + 1);
    if (header[at] === checksumType) {
      if (checksumAt !== undefined || valueBytes !== checksumBytes) return "malformed";
      checksumAt = valueAt;
    }
    at = valueAt + valueBytes;
    if (at > header.length) return "malformed";
  }
  return checksumAt === undefined || isRightChecksum(header, checksumAt) ? "right" : "wrongChecksum";
}

/** It is that of the whole header with zeros in its own place. */
function isRightChecksum(header: Buffer, at: number): boolean {
  const zeroed = Buffer.from(header).fill(0, at, at + checksumBytes);
  return header.readUInt32BE(at) === crc32c(zeroed);
}
