import { describe, expect, it } from "vitest";
import { clientHello, inRecordsOf } from "../../test/support/builders/client-hello.ts";
import { memoryBytesOf } from "../../test/support/heap-bytes.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { helloBytesMax } from "./hello-records.ts";
import { NameReader, type NameStep } from "./name-reader.ts";
import { encryptRequest } from "./postgres.ts";

const name = "nova.default.sandbox.localhost";
const hello = await clientHello({ servername: name });

/** The last step for bytes that arrive in these parts; a reader is not asked after its decision. */
function read(...parts: readonly Buffer[]): NameStep {
  const reader = new NameReader();
  let step: NameStep = { is: "incomplete" };
  for (const part of parts) {
    step = reader.take(part);
    if (step.is !== "incomplete") return step;
  }
  return step;
}

const bytewise = (bytes: Buffer) => Array.from(bytes, (byte) => Buffer.from([byte]));
const reasonOf = (step: NameStep) => (step.is === "refused" ? step.reason : step.is);

const number = (value: number, width: number) => {
  const bytes = Buffer.alloc(width);
  bytes.writeUIntBE(value, 0, width);
  return bytes;
};
const vector = (width: number, ...content: readonly Buffer[]) => {
  const all = Buffer.concat(content);
  return Buffer.concat([number(all.length, width), all]);
};
const extension = (type: number, ...content: readonly Buffer[]) =>
  Buffer.concat([number(type, 2), vector(2, ...content)]);
const entry = (text: string, type = 0) => Buffer.concat([number(type, 1), vector(2, Buffer.from(text, "latin1"))]);
const serverName = (...entries: readonly Buffer[]) => extension(0, vector(2, ...entries));

/** A ClientHello in one record, with these bytes behind its compression methods. */
function helloWith(behind: Buffer, type = 1): Buffer {
  const fixed = Buffer.concat([
    number(0x0303, 2),
    Buffer.alloc(32),
    vector(1),
    vector(2, number(0x1301, 2)),
    vector(1),
  ]);
  const message = Buffer.concat([number(type, 1), vector(3, fixed, behind)]);
  return Buffer.concat([Buffer.from([22, 3, 1]), vector(2, message)]);
}
const helloOf = (...extensions: readonly Buffer[]) => helloWith(vector(2, ...extensions));

describe("the name in a ClientHello", () => {
  it("is read wherever the bytes are split, and the bytes are kept as they came", () => {
    const expected = { is: "named", name, bytes: hello, asPostgres: false };
    for (let at = 0; at <= hello.length; at += 1) {
      expect(read(hello.subarray(0, at), hello.subarray(at))).toEqual(expected);
    }
    expect(read(...bytewise(hello))).toEqual(expected);
  });

  it.each([1, 2, 3, 4, 5, 100, 1_000])("is read from records of %i bytes", (size) => {
    const records = inRecordsOf(size, hello);
    expect(read(...bytewise(records))).toEqual({ is: "named", name, bytes: records, asPostgres: false });
    expect(read(records)).toEqual({ is: "named", name, bytes: records, asPostgres: false });
  });

  it("is read from clients of older versions and with other extensions", async () => {
    const older = await clientHello({ servername: name, maxVersion: "TLSv1.2", ALPNProtocols: ["postgresql"] });
    expect(read(older)).toMatchObject({ is: "named", name });
  });

  it("is read if early data follows in the same packet, and that is kept", () => {
    const bytes = Buffer.concat([hello, Buffer.from([23, 3, 3, 0, 1, 0])]);
    expect(read(bytes)).toMatchObject({ is: "named", name, bytes });
  });

  it("may be absent, which is told", async () => {
    expect(reasonOf(read(await clientHello({})))).toBe("NoName");
    expect(reasonOf(read(helloWith(Buffer.alloc(0))))).toBe("NoName");
    expect(reasonOf(read(helloOf()))).toBe("NoName");
  });

  it("is in at most 16 KiB", () => {
    const padded = (bytes: number) => helloOf(serverName(entry("a")), extension(21, Buffer.alloc(bytes)));
    const spare = helloBytesMax - padded(0).length;
    expect(read(padded(spare))).toMatchObject({ is: "named", name: "a" });
    expect(reasonOf(read(...bytewise(padded(spare))))).toBe("named");
    expect(reasonOf(read(padded(spare + 1).subarray(0, 5)))).toBe("HelloTooLong");
    expect(reasonOf(read(inRecordsOf(1, padded(3_000))))).toBe("HelloTooLong");
    const announced = Buffer.from([22, 3, 1, 0, 4, 1, 0, 0x40, 0]);
    expect(reasonOf(read(announced))).toBe("HelloTooLong");
  });
});

describe("a ClientHello that cannot be read", () => {
  it.each([
    { what: "two names", bytes: helloOf(serverName(entry("a"), entry("b"))) },
    { what: "the extension twice", bytes: helloOf(serverName(entry("a")), serverName(entry("a"))) },
    { what: "an empty name", bytes: helloOf(serverName(entry(""))) },
    { what: "no entry", bytes: helloOf(serverName()) },
    { what: "an entry of another type", bytes: helloOf(serverName(entry("a", 1))) },
    { what: "bytes behind the list of names", bytes: helloOf(extension(0, vector(2, entry("a")), number(0, 1))) },
    { what: "bytes behind the extensions", bytes: helloWith(Buffer.concat([vector(2), number(0, 1)])) },
    { what: "an extension that is longer than all of them", bytes: helloOf(number(0, 2), number(9, 2)) },
    { what: "another handshake message", bytes: helloWith(vector(2), 2) },
    {
      what: "a record of an alert",
      bytes: Buffer.concat([inRecordsOf(100, hello).subarray(0, 105), Buffer.from([21])]),
    },
    { what: "a record without content", bytes: Buffer.from([22, 3, 1, 0, 0]) },
    { what: "a record of another version", bytes: Buffer.from([22, 2]) },
    { what: "a second message in its record", bytes: Buffer.from([22, 3, 1, 0, 6, 1, 0, 0, 1, 0, 0]) },
  ])("because it has $what is refused", ({ bytes }) => {
    expect(reasonOf(read(bytes))).toBe("MalformedHello");
    expect(reasonOf(read(...bytewise(bytes)))).toBe("MalformedHello");
  });

  it("is refused or read, and never an error, whatever byte of it is changed", () => {
    const random = seededRandom(15);
    for (let at = 0; at < hello.length; at += 1) {
      const changed = Buffer.from(hello);
      changed[at] = random.below(256);
      expect(["named", "refused", "incomplete"]).toContain(read(changed).is);
      expect(["refused", "incomplete"]).toContain(read(hello.subarray(0, at)).is);
    }
  });
});

describe("what a client of PostgreSQL says first", () => {
  const gss = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x30]);
  const cancel = Buffer.from([0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 1, 0, 0, 0, 2]);
  const start = Buffer.from("\0\0\0\x10\0\x03\0\0user\0a\0\0", "latin1");

  it("is answered S, and then its ClientHello is read", () => {
    const reader = new NameReader();
    for (const byte of bytewise(encryptRequest.subarray(0, 7))) expect(reader.take(byte)).toEqual({ is: "incomplete" });
    expect(reader.take(encryptRequest.subarray(7))).toEqual({ is: "incomplete", reply: Buffer.from("S") });
    expect(reader.take(hello)).toEqual({ is: "named", name, bytes: hello, asPostgres: true });
  });

  it("is answered N if it asks for GSSAPI, and S if it then asks for TLS", () => {
    const reader = new NameReader();
    expect(reader.take(gss)).toEqual({ is: "incomplete", reply: Buffer.from("N") });
    expect(reader.take(encryptRequest)).toEqual({ is: "incomplete", reply: Buffer.from("S") });
    expect(reader.take(hello)).toMatchObject({ is: "named", asPostgres: true });
  });

  it("is refused with an error that psql shows if it does not ask for TLS", () => {
    const step = read(gss, start);
    expect(reasonOf(step)).toBe("WithoutTls");
    const reply = step.is === "refused" && step.reply;
    if (!reply) throw new Error("it has no answer");
    expect([reply.toString("latin1", 0, 1), reply.readInt32BE(1)]).toEqual(["E", reply.length - 1]);
    expect(reply.toString()).toContain("sslmode=require");
  });

  it.each([
    { what: "a ClientHello before our answer", parts: [Buffer.concat([encryptRequest, hello])], reason: "EarlyBytes" },
    { what: "one byte before our answer", parts: [Buffer.concat([gss, Buffer.from([0])])], reason: "EarlyBytes" },
    { what: "the request for TLS twice", parts: [encryptRequest, encryptRequest], reason: "NotTls" },
    { what: "the request for GSSAPI twice", parts: [gss, gss], reason: "NotTls" },
    { what: "a ClientHello after our N", parts: [gss, hello], reason: "NotTls" },
    { what: "a start after our S", parts: [encryptRequest, start], reason: "NotTls" },
    { what: "a cancel", parts: [cancel], reason: "CancelWithoutName" },
    { what: "a request of HTTP", parts: [Buffer.from("GET / HTTP/1.1\r\n\r\n")], reason: "NotTls" },
    { what: "eight zeros", parts: [Buffer.alloc(8)], reason: "NotTls" },
    {
      what: "a request for TLS of another length",
      parts: [Buffer.from([0, 0, 0, 9, 4, 0xd2, 0x16, 0x2f])],
      reason: "NotTls",
    },
  ])("is refused if it sends $what", ({ parts, reason }) => {
    expect(reasonOf(read(...parts))).toBe(reason);
  });
});

it.each([512, 1_000, 4_096])("an unfinished ClientHello in pieces of %i bytes keeps at most 20 KiB", async (piece) => {
  const record = Buffer.alloc(helloBytesMax - 1, 1);
  record.set([22, 3, 1, 0x3f, 0xfb, 1, 0, 0x3f, 0xf7]); // its last byte is missing
  const readers: NameReader[] = [];
  const bytes = await memoryBytesOf(() => {
    for (let count = 0; count < 500; count += 1) {
      const reader = new NameReader();
      readers.push(reader);
      for (let at = 0; at < record.length; at += piece) reader.take(record.subarray(at, at + piece));
    }
  });
  expect(readers.map((reader) => reader.take(Buffer.alloc(0)).is)).toEqual(readers.map(() => "incomplete"));
  expect(bytes / readers.length).toBeLessThanOrEqual(20_480);
});
