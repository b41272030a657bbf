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
