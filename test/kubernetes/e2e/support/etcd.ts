import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { ports } from "../../../../cluster/network.ts";
import { clusterLayout } from "./components.ts";

// Calls of `etcdserverpb.KV`. Their messages are small, so they are encoded and decoded here.

/** Compacts etcd to the current revision, so that no watch can continue from an older one. */
export function compactEtcd(): Promise<void> {
  return withEtcd(async (session) => {
    const revision = varintsOf(await rangeOf(session, "/"))[3] ?? 0n;
    await call(session, "Compact", Buffer.from([tagOf(1, 0), ...varint(revision), tagOf(2, 0), 1]));
  });
}

/** The value of a key in etcd, with the few bytes around it; custom resources are JSON there. */
export function readFromEtcd(key: string): Promise<string> {
  return withEtcd(async (session) => (await rangeOf(session, key)).toString());
}

const rangeOf = (session: ClientHttp2Session, key: string) =>
  call(session, "Range", Buffer.from([tagOf(1, 2), ...varint(BigInt(key.length)), ...Buffer.from(key)]));

async function withEtcd<T>(work: (session: ClientHttp2Session) => Promise<T>): Promise<T> {
  const { pki } = clusterLayout();
  const read = (file: string) => readFileSync(pki(file));
  const tls = { ca: read("ca.crt"), cert: read("apiserver-client.crt"), key: read("apiserver-client.key") };
  const session = connect(`https://127.0.0.1:${ports.etcd}`, tls);
  try {
    await once(session, "connect");
    return await work(session);
  } finally {
    session.destroy();
  }
}

/** One unary gRPC call; resolves with its message, without the prefix of five bytes. */
async function call(session: ClientHttp2Session, method: string, message: Buffer): Promise<Buffer> {
  const headers = { "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ":method": "POST", ":path": `/etcdserverpb.KV/${method}`, ...headers });
  let status: unknown = "unknown";
  const note = (fields: object) => {
    if ("grpc-status" in fields) status = fields["grpc-status"];
  };
  stream.on("response", note).on("trailers", note);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  if (status !== "0") throw new Error(`etcd answers ${method} with gRPC status ${status}`);
  return Buffer.concat(chunks).subarray(5);
}

/** Protocol Buffers, "Message Structure": the number of a field and its wire type. */
const tagOf = (field: number, wireType: number) => (field << 3) | wireType;

function varint(value: bigint): readonly number[] {
  return value < 128n ? [Number(value)] : [Number(value & 127n) | 128, ...varint(value >> 7n)];
}

/** The numbers in the header of each response, by field: cluster, member, revision, term. */
function varintsOf(response: Buffer): Readonly<Record<number, bigint>> {
  const header = response.subarray(2, 2 + (response[1] ?? 0));
  const values: Record<number, bigint> = {};
  for (let at = 0; at < header.length; ) {
    const field = (header[at++] ?? 0) >> 3;
    let value = 0n;
    for (let shift = 0n, more = true; more; shift += 7n) {
      const byte = header[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      more = byte > 127;
    }
    values[field] = value;
  }
  return values;
}
