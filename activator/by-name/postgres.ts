// What a client of PostgreSQL says before TLS, and the answers (https://www.postgresql.org/docs/current/protocol-message-formats.html).

/** The bytes of a request of a fixed length: its length, and its code. */
export const requestBytes = 8;
const encryptCode = 80_877_103;
const gssCode = 80_877_104;
const cancelCode = 80_877_102;
const protocolMajor = 3;

export type PostgresRequest = "encrypt" | "gss" | "cancel" | "start";

/** What the first eight bytes ask for; undefined: they are not of PostgreSQL. */
export function postgresRequestOf(head: Buffer): PostgresRequest | undefined {
  const [length, code] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  if (code === encryptCode && length === requestBytes) return "encrypt";
  if (code === gssCode && length === requestBytes) return "gss";
  if (code === cancelCode) return "cancel";
  return code >>> 16 === protocolMajor ? "start" : undefined;
}

/** The request for TLS, as a client sends it. */
export const encryptRequest: Buffer = Buffer.from([0, 0, 0, requestBytes, 0x04, 0xd2, 0x16, 0x2f]);
/** The server will speak TLS. */
export const willEncrypt = 0x53; // S
/** It will not. */
export const willNot = 0x4e; // N

const invalidAuthorization = "28000";

/** The error for a client that does not ask for TLS. With `sslmode=allow` it then tries TLS. */
export function withoutTlsError(): Buffer {
  const message = "The sandbox is named by TLS: connect with sslmode=require.";
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${invalidAuthorization}\0M${message}\0\0`, "latin1");
  const head = Buffer.alloc(5, "E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
