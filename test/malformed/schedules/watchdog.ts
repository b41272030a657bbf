import { Worker } from "node:worker_threads";

/** How many operations are kept to be printed, and how many bytes of each. */
const notesKept = 80;
const noteBytes = 160;

export interface WatchdogShare {
  /** How often the event loop has turned, and how many operations were noted. */
  readonly counts: Int32Array<SharedArrayBuffer>;
  readonly notes: Uint8Array<SharedArrayBuffer>;
  readonly title: string;
  readonly standstillMs: number;
  readonly rssBytesMax: number;
}

/** Ends this process if its event loop stands still, or if it takes too much memory, and prints the last operations. */
export interface Watchdog extends AsyncDisposable {
  /** Keeps what is about to be done. */
  note(operation: string): void;
  /** What was done last, one operation in each line. */
  last(): string;
}

/** It runs in a thread of its own, because an endless loop in native code stops all others. */
export function startWatchdog(title: string, standstillMs: number, rssBytesMax: number): Watchdog {
  const counts = new Int32Array(new SharedArrayBuffer(8));
  const notes = new Uint8Array(new SharedArrayBuffer(notesKept * noteBytes));
  const share: WatchdogShare = { counts, notes, title, standstillMs, rssBytesMax };
  const worker = new Worker(new URL("./watchdog-thread.ts", import.meta.url), { workerData: share });
  worker.unref();
  const beat = setInterval(() => Atomics.add(counts, 0, 1), 20);
  const encoder = new TextEncoder();
  return {
    note(operation) {
      const at = (Atomics.add(counts, 1, 1) % notesKept) * noteBytes;
      notes.fill(0, at, at + noteBytes);
      encoder.encodeInto(operation, notes.subarray(at, at + noteBytes - 1));
    },
    last: () => lastNotes(counts, notes),
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      await worker.terminate();
    },
  };
}

export function lastNotes(counts: Int32Array, notes: Uint8Array): string {
  const count = Atomics.load(counts, 1);
  const first = Math.max(0, count - notesKept);
  const lines = Array.from({ length: count - first }, (_, index) => {
    const at = ((first + index) % notesKept) * noteBytes;
    const bytes = Buffer.from(notes.slice(at, at + noteBytes));
    return bytes.subarray(0, bytes.indexOf(0)).toString();
  });
  return lines.join("\n");
}
