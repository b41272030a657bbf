import { expect, it } from "vitest";
import {
  extra,
  ipv4Block,
  ipv6Block,
  signature,
  version1,
  version2,
  withChecksum,
} from "../../../test/support/builders/proxy-headers.ts";
import { type SeededRandom, seededRandom } from "../../../test/support/seeded-random.ts";
import { AwaitedHeader } from "./awaited-header.ts";

const cases = 3_000;

const hex = (random: SeededRandom, digits: number) =>
  Array.from({ length: digits }, () => random.below(16).toString(16)).join("");
const bytesOf = (random: SeededRandom, length: number) => Buffer.from(hex(random, 2 * length), "hex");
const ipv4Of = (random: SeededRandom) => Array.from({ length: 4 }, () => random.below(256)).join(".");
const groupsOf = (random: SeededRandom) => Array.from({ length: 8 }, () => hex(random, 1 + random.below(4))).join(":");

function lineOf(random: SeededRandom): Buffer {
  const ports = `${random.below(70_000)} ${random.below(65_536)}`;
  return version1(
    random.oneOf([
      `TCP4 ${ipv4Of(random)} ${ipv4Of(random)} ${ports}`,
      `TCP6 ${groupsOf(random)} ${groupsOf(random)} ${ports}`,
      `TCP6 ${hex(random, 3)}::${hex(random, 1)} ::1 ${ports}`,
      `UNKNOWN ${"x".repeat(random.below(110))}`,
      "UNKNOWN",
    ]),
  );
}

function binaryOf(random: SeededRandom): Buffer {
  const addresses = random.oneOf([ipv4Block(ipv4Of(random)), ipv6Block(hex(random, 32)), bytesOf(random, 216)]);
  const usual = addresses.length === 12 ? 0x11 : addresses.length === 36 ? 0x21 : 0x31;
  const extras = Array.from({ length: random.below(3) }, () =>
    extra(random.oneOf([1, 3, 4, 0x20, 0xe0]), bytesOf(random, random.oneOf([0, 4, 60, 1_500]))),
  );
  const block = Buffer.concat([addresses, ...extras]);
  const family = random.below(4) > 0 ? usual : random.oneOf([0, 0x10, 0x12, 0x22, 0x32, 0x41, 0x13, 0xff]);
  const versionAndCommand = random.below(4) > 0 ? 0x21 : random.oneOf([0x20, 0x22, 0x11, 0x01]);
  const length =
    random.below(5) > 0 ? undefined : random.oneOf([0, 11, block.length - 1, block.length + 1, 4_096, 4_097, 65_535]);
  const header = { versionAndCommand, family, block, ...(length !== undefined && { length }) };
  return random.below(3) > 0 ? version2(header) : withChecksum(header, random.below(2));
}

/** What a peer may send: headers, also two of them, cut or with other bytes, and then something else. */
function sentBy(random: SeededRandom): Buffer {
  const header = () => (random.below(2) === 0 ? lineOf(random) : binaryOf(random));
  const payload = random.oneOf(["", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\x00", "x".repeat(5_000)]);
  const sent = Buffer.concat([
    header(),
    random.below(4) === 0 ? header() : Buffer.alloc(0),
    Buffer.from(payload, "latin1"),
  ]);
  switch (random.below(4)) {
    case 0:
      return sent.subarray(0, random.below(sent.length + 1));
    case 1:
      for (let changes = random.below(3); changes >= 0 && sent.length > 0; changes -= 1) {
        sent[random.below(Math.min(sent.length, 64))] = random.oneOf([random.below(256), 10, 13, 32, 48]);
      }
      return sent;
    default:
      return sent;
  }
}

interface Verdict {
  readonly reason?: string;
  readonly client?: string;
  readonly rest?: string;
}

const peer = "198.51.100.9";

/** The same rules, read from the specification again, one byte more each time. Undefined: it is incomplete. */
function slowly(sent: Buffer): Verdict | undefined {
  for (let length = 0; length <= sent.length; length += 1) {
    const verdict = judge(sent.toString("latin1", 0, length), sent.subarray(0, length));
    if (verdict) return verdict.reason ? verdict : { ...verdict, rest: sent.toString("latin1", length) };
  }
  return undefined;
}

function judge(text: string, bytes: Buffer): Verdict | undefined {
  const binary = signature.toString("latin1");
  if (binary.startsWith(text) || "PROXY ".startsWith(text)) return undefined;
  if (text.startsWith(binary)) return judgeBinary(bytes.toString("hex"), bytes);
  if (!text.startsWith("PROXY ")) return { reason: "Missing" };
  if (/\r[^\n]|[^\r]\n/s.test(text)) return { reason: "Malformed" };
  if (!text.endsWith("\r\n")) return text.length >= 107 ? { reason: "TooLong" } : undefined;
  if (/^PROXY UNKNOWN( .*)?\r\n$/s.test(text)) return { client: peer };
  const port = "(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
  const byte = "(0|[1-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])";
  const ipv4 = `${byte}\\.${byte}\\.${byte}\\.${byte}`;
  const four = new RegExp(`^PROXY TCP4 (?<source>${ipv4}) ${ipv4} ${port} ${port}\r\n$`).exec(text);
  if (four) return { client: four.groups?.["source"] ?? "" };
  const six = new RegExp(`^PROXY TCP6 (?<source>[^ ]+) (?<target>[^ ]+) ${port} ${port}\r\n$`).exec(text);
  const [source, target] = [urlHost(six?.groups?.["source"]), urlHost(six?.groups?.["target"])];
  return source === undefined || target === undefined ? { reason: "Malformed" } : { client: source };
}

/** The canonical text of an address of IPv6, by another parser. */
function urlHost(address: string | undefined): string | undefined {
  if (address === undefined || !/^[0-9A-Fa-f:.]+$/.test(address)) return undefined;
  const text = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text ?? "");
  if (!mapped) return text;
  const number = parseInt(mapped[1] ?? "", 16) * 65_536 + parseInt(mapped[2] ?? "", 16);
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}

function judgeBinary(digits: string, bytes: Buffer): Verdict | undefined {
  const at = (byte: number, length = 1) => digits.slice(2 * byte, 2 * (byte + length));
  if (bytes.length > 12 && !["20", "21"].includes(at(12))) return { reason: "Malformed" };
  if (bytes.length < 16) return undefined;
  const blockBytes = parseInt(at(14, 2), 16);
  if (blockBytes > 4_096) return { reason: "TooLong" };
  if (bytes.length < 16 + blockBytes) return undefined;
  if (at(12) === "20") return { client: peer };
  const [family = "", transport = ""] = at(13);
  if (!"0123".includes(family) || !"012".includes(transport)) return { reason: "Malformed" };
  if (family === "0" || transport === "0") return { client: peer };
  const addressBytes = { "1": 12, "2": 36 }[family] ?? 216;
  if (blockBytes < addressBytes) return { reason: "Malformed" };
  let left = at(16 + addressBytes, blockBytes - addressBytes);
  let checksum: string | undefined;
  while (left !== "") {
    const value = left.slice(6, 6 + 2 * parseInt(left.slice(2, 6), 16));
    if (left.length < 6 || value.length !== 2 * parseInt(left.slice(2, 6), 16)) return { reason: "Malformed" };
    if (left.startsWith("03")) {
      if (checksum !== undefined || value.length !== 8) return { reason: "Malformed" };
      checksum = value;
      const zeroed = Buffer.from(
        digits.slice(0, digits.length - left.length) + left.replace(/^(.{6}).{8}/, "$100000000"),
        "hex",
      );
      if (bitwiseChecksum(zeroed) !== parseInt(value, 16)) checksum = "wrong";
    }
    left = left.slice(6 + value.length);
  }
  if (checksum === "wrong") return { reason: "WrongChecksum" };
  if (transport !== "1" || family === "3") return { client: peer };
  const source = at(16, family === "1" ? 4 : 16);
  if (family === "1") return { client: [...Buffer.from(source, "hex")].join(".") };
  return { client: urlHost(source.replace(/(.{4})(?!$)/g, "$1:")) ?? "" };
}

/** CRC32c bit by bit. */
function bitwiseChecksum(bytes: Buffer): number {
  let rest = 0xffff_ffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0x82f6_3b78 : rest >>> 1;
  }
  return ~rest >>> 0;
}

/** What a connection makes of it, if it comes in pieces of these lengths. */
function inPieces(sent: Buffer, next: () => number): Verdict | undefined {
  let reason: string | undefined;
  const header = new AwaitedHeader(
    { remoteAddress: peer },
    { dueMs: 0, cut() {}, onOver() {}, onRefused: (refusal) => (reason = refusal) },
  );
  for (let from = 0; from < sent.length; ) {
    const to = Math.min(sent.length, from + next());
    let verdict: Verdict | undefined;
    header.take(Buffer.from(sent.subarray(from, to)), ({ clientIp: client, headerBytes }, rest) => {
      expect(headerBytes).toBe(to - rest.length);
      verdict = { client, rest: rest.toString("latin1") + sent.toString("latin1", to) };
    });
    from = to;
    if (reason !== undefined) return { reason };
    if (verdict) return verdict;
  }
  return undefined;
}

it("any bytes are read as a slow reader of one byte at a time reads them, in whatever pieces", () => {
  const random = seededRandom(20_261_123);
  const seen = new Map<string, number>();
  for (let at = 0; at < cases; at += 1) {
    const sent = sentBy(random);
    const expected = slowly(sent);
    const kind = expected === undefined ? "incomplete" : (expected.reason ?? "complete");
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    const ways = [() => sent.length, () => 1, () => 1 + random.below(40)];
    for (const next of ways) expect(inPieces(sent, next), sent.toString("latin1")).toEqual(expected);
  }
  const kinds = ["incomplete", "complete", "Missing", "Malformed", "TooLong", "WrongChecksum"];
  for (const kind of kinds) expect(seen.get(kind), kind).toBeGreaterThan(50);
});
