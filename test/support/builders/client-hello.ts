import { once } from "node:events";
import { Duplex } from "node:stream";
import { type ConnectionOptions, connect } from "node:tls";

/** What Node's own TLS client sends first. */
export async function clientHello(options: ConnectionOptions): Promise<Buffer> {
  const wire = new Duplex({
    read() {},
    write(bytes: Buffer, _encoding, done) {
      wire.emit("written", bytes);
      done();
    },
  });
  const written = once(wire, "written");
  const client = connect({ ...options, socket: wire }).on("error", () => {});
  const [bytes]: Buffer[] = await written;
  client.destroy();
  wire.destroy();
  if (!bytes) throw new Error("the client said nothing");
  return bytes;
}

/** The same handshake message in records of at most so many bytes. */
export function inRecordsOf(size: number, hello: Buffer): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const content = message.subarray(at, at + size);
    const header = Buffer.from(hello.subarray(0, 5));
    header.writeUInt16BE(content.length, 3);
    records.push(header, content);
  }
  return Buffer.concat(records);
}

/** The ClientHello with a padding extension (RFC 7685). */
export function padded(record: Buffer, bytes: number): Buffer {
  let at = 43; // the record's header, the message's header, version and random
  at += 1 + record.readUInt8(at); // session
  at += 2 + record.readUInt16BE(at); // cipher suites
  at += 1 + record.readUInt8(at); // compression
  const long = Buffer.concat([record, Buffer.alloc(4 + bytes)]);
  long.writeUInt16BE(21, record.length);
  long.writeUInt16BE(bytes, record.length + 2);
  long.writeUInt16BE(record.readUInt16BE(3) + 4 + bytes, 3);
  long.writeUIntBE(record.readUIntBE(6, 3) + 4 + bytes, 6, 3);
  long.writeUInt16BE(record.readUInt16BE(at) + 4 + bytes, at);
  return long;
}
