// Prints how many full collections of garbage follow from ten thousand crowds of entries that come to an old Map, and go.
import { GCProfiler } from "node:v8";
import { TurnoverMap } from "../../lib/data/turnover.ts";

interface Table {
  set(key: number, value: unknown): unknown;
  delete(key: number): unknown;
}

const crowd = 10;
const table: Table = process.argv[2] === "Map" ? new Map() : new TurnoverMap<number, unknown>();
table.set(-1, {});
makeGarbage(3_000_000); // now the table is old
table.delete(-1);
const profiler = new GCProfiler();
profiler.start();
for (let first = 0; first < 200_000; first += crowd) {
  for (let key = first; key < first + crowd; key += 1) table.set(key, new Array(500).fill(key));
  for (let key = first; key < first + crowd; key += 1) table.delete(key);
}
const full = profiler.stop()?.statistics.filter(({ gcType }) => gcType === "MarkSweepCompact");
process.stdout.write(`${full?.length}\n`);

function makeGarbage(objects: number): void {
  const some: unknown[] = [];
  for (let index = 0; index < objects; index += 1) some[index % 100] = new Array(20).fill(index);
}
