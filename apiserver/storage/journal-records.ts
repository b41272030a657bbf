import { crc32 } from "node:zlib";
import { type KubeObject, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { Commit, StorageState } from "./storage.ts";

/**
 * One line of a journal or snapshot: eight hex digits of CRC-32, a space, JSON, a line feed. JSON has no line feeds, so
 * a partial line can be distinguished from a whole one.
 */
export type JournalRecord =
  | { readonly version: number; readonly resource: string; readonly put: Stored<KubeObject> }
  | { readonly version: number; readonly resource: string; readonly remove: string }
  /** The first line of a snapshot: the number of records. */
  | { readonly version: number; readonly snapshotOf: number };

/** A journal has a damaged record before whole ones. No crash of this program causes this. */
export class JournalDamaged extends Error {
  override readonly name = "JournalDamaged";
}

export function encodeCommit({ type, resource, version, entry }: Commit): Buffer {
  const head = `{"version":${version},"resource":${JSON.stringify(resource)}`;
  return encodeLine(
    type === "DELETED" ? `${head},"remove":${JSON.stringify(keyOf(entry.object))}}` : `${head},"put":${entry.json}}`,
  );
}

export function encodeSnapshot({ version, objects }: StorageState): Buffer {
  const head = JSON.stringify({ version, snapshotOf: objects.length });
  // One text at a time: all together would take their memory once more.
  const lines = objects.map(({ resource, object }) => encodeLine(JSON.stringify({ version, resource, put: object })));
  return Buffer.concat([encodeLine(head), ...lines]);
}

/**
 * The records one by one, so that none needs memory longer than its reader does. Returns how many bytes they have: those after them are part of
 * a record whose write was never acknowledged.
 *
 * @throws JournalDamaged when a record other than the last one is damaged.
 */
export function* decodeJournal(bytes: Buffer): Generator<JournalRecord, number> {
  let at = 0;
  for (let next = decodeLine(bytes, at); next; next = decodeLine(bytes, at)) {
    yield next.record;
    at = next.end;
  }
  refuseRecordsAfter(bytes, at);
  return at;
}

export interface Replayed {
  readonly state: StorageState;
  /** Of the journal: those of its whole records. */
  readonly intactBytes: number;
}

/**
 * The state after a snapshot and its journal, or the journal before it if the program died in between. A superseded version of an object
 * needs no memory.
 */
export function replay(state: StorageState, journal: Buffer): Replayed {
  const objects = new Map(state.objects.map((one) => [`${one.resource} ${keyOf(one.object)}`, one]));
  let version = state.version;
  const records = decodeJournal(journal);
  let next = records.next();
  for (; !next.done; next = records.next()) {
    const record = next.value;
    if (record.version <= state.version || "snapshotOf" in record) continue;
    version = record.version;
    if ("put" in record) {
      const { resource, put: object } = record;
      objects.set(`${resource} ${keyOf(object)}`, { resource, object });
    } else objects.delete(`${record.resource} ${record.remove}`);
  }
  return { state: { version, objects: [...objects.values()] }, intactBytes: next.value };
}

/** The length of a snapshot of the state. */
export function snapshotLength({ version, objects }: StorageState): number {
  const head = lineLength(JSON.stringify({ version, snapshotOf: objects.length }));
  return objects.reduce(
    (sum, { resource, object }) => sum + lineLength(JSON.stringify({ version, resource, put: object })),
    head,
  );
}

function encodeLine(json: string): Buffer {
  return Buffer.from(`${checksum(Buffer.from(json))} ${json}\n`);
}

const checksum = (bytes: Buffer): string => crc32(bytes).toString(16).padStart(8, "0");
const lineFeed = 0x0a;
const prefixLength = 9;
const lineLength = (json: string): number => prefixLength + Buffer.byteLength(json) + 1;

function decodeLine(
  bytes: Buffer,
  start: number,
): { readonly record: JournalRecord; readonly end: number } | undefined {
  const end = lineEndFrom(bytes, start);
  if (end < start + prefixLength) return undefined;
  const json = bytes.subarray(start + prefixLength, end);
  const prefix = bytes.subarray(start, start + prefixLength);
  if (prefix.toString("latin1") !== `${checksum(json)} `) return undefined;
  return { record: JSON.parse(json.toString("utf8")) as JournalRecord, end: end + 1 };
}

function refuseRecordsAfter(bytes: Buffer, damagedAt: number): void {
  for (let feed = lineEndFrom(bytes, damagedAt); feed >= 0; feed = lineEndFrom(bytes, feed + 1)) {
    if (decodeLine(bytes, feed + 1)) {
      throw new JournalDamaged(`the record at byte ${damagedAt} is damaged, and whole records follow it`);
    }
  }
}

/** Not by the second argument of `indexOf`, which Node takes for 2 GiB if it is more. */
function lineEndFrom(bytes: Buffer, start: number): number {
  const at = bytes.subarray(start).indexOf(lineFeed);
  return at < 0 ? at : start + at;
}
