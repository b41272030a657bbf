import { ownCopy } from "../socket/read-place.ts";
import type { NameRefusal } from "../tcp-front/connection/refusals.ts";
import { HelloRecords, helloBytesMax, messageOf } from "./hello-records.ts";
import { postgresRequestOf, requestBytes, willEncrypt, willNot, withoutTlsError } from "./postgres.ts";
import { serverNameOf } from "./server-name.ts";
import { decodeError, missingName } from "./tls-alerts.ts";

/** What the bytes so far mean. */
export type NameStep =
  /** More must come. `reply` is for the client, who waits for it. */
  | { readonly is: "incomplete"; readonly reply?: Buffer }
  | NamedClient
  /** `reply`: the last bytes for the client; absent: it is reset. */
  | { readonly is: "refused"; readonly reason: NameRefusal; readonly reply?: Buffer };

/** A client that has named a sandbox. */
export interface NamedClient {
  readonly is: "named";
  /** The server name of its ClientHello, as it is spelt. */
  readonly name: string;
  /** Everything since the beginning of the ClientHello, for the sandbox. */
  readonly bytes: Buffer;
  /** The client asked for TLS as PostgreSQL does, so the sandbox must be asked too. */
  readonly asPostgres: boolean;
}

const handshakeRecord = 22;
const firstRoomBytes = 2_048;
const incomplete: NameStep = { is: "incomplete" };

/** Reads which sandbox a client names before any byte of it goes on. It copies what it keeps, and knows no socket. */
export class NameReader {
  #room = Buffer.alloc(0);
  #length = 0;
  #saidGss = false;
  #saidEncrypt = false;
  #hello: HelloRecords | undefined;

  take(bytes: Buffer): NameStep {
    this.#keep(bytes);
    const [first] = this.#kept;
    if (first === undefined) return incomplete;
    if (this.#hello || this.#saidEncrypt || (first === handshakeRecord && !this.#saidGss)) return this.#readHello();
    return first === 0 ? this.#readRequest() : { is: "refused", reason: "NotTls" };
  }

  get #kept(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  #keep(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#room.length) {
      // Beyond the longest ClientHello at most one read follows, so there the room is exact.
      const larger = Buffer.allocUnsafeSlow(Math.max(firstRoomBytes, length, Math.min(2 * length, helloBytesMax)));
      this.#kept.copy(larger);
      this.#room = larger;
    }
    bytes.copy(this.#room, this.#length);
    this.#length = length;
  }

  #readRequest(): NameStep {
    if (this.#length < requestBytes) return incomplete;
    const request = postgresRequestOf(this.#kept);
    switch (request) {
      case "encrypt":
        this.#saidEncrypt = true;
        return this.#reply(willEncrypt);
      case "gss":
        if (this.#saidGss) return { is: "refused", reason: "NotTls" };
        this.#saidGss = true;
        return this.#reply(willNot);
      case "cancel":
        return { is: "refused", reason: "CancelWithoutName" };
      case "start":
        return { is: "refused", reason: "WithoutTls", reply: withoutTlsError() };
      case undefined:
        return { is: "refused", reason: "NotTls" };
    }
  }

  /** What came before our answer, in clear text, must not count as what follows it (CVE-2021-23222). */
  #reply(answer: number): NameStep {
    if (this.#length > requestBytes) return { is: "refused", reason: "EarlyBytes" };
    this.#length = 0;
    return { is: "incomplete", reply: Buffer.from([answer]) };
  }

  #readHello(): NameStep {
    if (this.#kept[0] !== handshakeRecord) return { is: "refused", reason: "NotTls" };
    this.#hello ??= new HelloRecords();
    const bytes = this.#kept;
    switch (this.#hello.read(bytes)) {
      case "incomplete":
        return incomplete;
      case "tooLong":
        return { is: "refused", reason: "HelloTooLong" };
      case "malformed":
        return { is: "refused", reason: "MalformedHello", reply: decodeError };
      case "complete":
        return this.#readName(bytes.subarray(0, this.#hello.end));
    }
  }

  #readName(records: Buffer): NameStep {
    const read = serverNameOf(messageOf(records));
    if (read === "malformed") return { is: "refused", reason: "MalformedHello", reply: decodeError };
    if (read.name === undefined) return { is: "refused", reason: "NoName", reply: missingName };
    return { is: "named", name: read.name, bytes: ownCopy(this.#kept), asPostgres: this.#saidEncrypt };
  }
}
