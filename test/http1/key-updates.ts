import { createCipheriv, createHmac, createSecretKey } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { connect as connectTls } from "node:tls";

/**
 * A client of TLS 1.3 that has finished its handshake and then sends KeyUpdate messages alone. Node cannot send them, so they are
 * encrypted here, with the secret that Node tells (RFC 8446, 4.6.3, 5.2 and 7.2). The suite is TLS_AES_128_GCM_SHA256.
 */
export interface UpdatingClient {
  readonly socket: Socket;
  /** With a byte of data after each so many, if given. */
  sendUpdates(count: number, updatesPerByte?: number): void;
}

export async function openUpdatingClient(port: number, protocol = "http/1.1"): Promise<UpdatingClient> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true }).on("error", () => {});
  await once(socket, "connect");
  const [near, far] = duplexPair();
  near.on("data", (bytes: Buffer) => socket.write(bytes));
  socket.on("data", (bytes: Buffer) => near.write(bytes));
  const secured = connectTls({
    ...{ socket: far, servername: "nova", ALPNProtocols: [protocol], rejectUnauthorized: false },
    ...{ minVersion: "TLSv1.3", ciphers: "TLS_AES_128_GCM_SHA256" },
  }).on("error", () => {});
  const writer = new RecordWriter();
  secured.on("keylog", (line: Buffer) => {
    const [label, , value = ""] = line.toString().trim().split(" ");
    if (label === "CLIENT_TRAFFIC_SECRET_0") writer.secret = Buffer.from(value, "hex");
  });
  await once(secured, "secureConnect");
  await new Promise(setImmediate); // the end of the handshake goes through the pair
  return {
    socket,
    sendUpdates(count, updatesPerByte = Number.POSITIVE_INFINITY) {
      const records: Buffer[] = [];
      for (let sent = 1; sent <= count; sent += 1) {
        records.push(writer.keyUpdate());
        if (sent % updatesPerByte === 0) records.push(writer.byteOfData());
      }
      socket.write(Buffer.concat(records));
    },
  };
}

/** The end of each is the type of its content: handshake, and data. */
const keyUpdate = Buffer.of(24, 0, 0, 1, 0, 22); // without a request for another one
const byteOfData = Buffer.of(120, 23);

class RecordWriter {
  secret: Buffer = Buffer.alloc(0);
  /** The number of records under this secret. */
  #written = 0;

  keyUpdate(): Buffer {
    const record = this.#record(keyUpdate);
    this.secret = expand(this.secret, "traffic upd", 32);
    this.#written = 0;
    return record;
  }

  byteOfData(): Buffer {
    return this.#record(byteOfData);
  }

  #record(content: Buffer): Buffer {
    const header = Buffer.of(23, 3, 3, 0, content.length + 16);
    const nonce = expand(this.secret, "iv", 12);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.#written) >>> 0, 8);
    this.#written += 1;
    const cipher = createCipheriv("aes-128-gcm", createSecretKey(expand(this.secret, "key", 16)), nonce);
    cipher.setAAD(header);
    return Buffer.concat([header, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  }
}

/**
 * HKDF-Expand-Label of RFC 8446, 7.1, by HMAC: HKDF of Node begins with an extraction. To ask whether a buffer is a key takes Node
 * three times as long as all else, so it gets a key.
 */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.of(0, length, name.length), name, Buffer.of(0, 1)]);
  return createHmac("sha256", createSecretKey(secret)).update(info).digest().subarray(0, length);
}
