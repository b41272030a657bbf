import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { identityOfProcess, isZombie } from "../../lib/process/process-identity.ts";
import { type DataDir, openDataDir } from "./data-dir.ts";
import { DataDirInUse } from "./data-dir-lock.ts";
import { JournalDamaged } from "./journal-records.ts";
import { holdPipe, isPipeHeld } from "./lock-pipe.ts";
import { Storage } from "./storage.ts";

const temporaryDir = (): { readonly path: string } & Disposable => {
  const path = mkdtempSync(join(tmpdir(), "rouse-data-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

const storageIn = (data: DataDir) => new Storage(data.state, (commit) => data.record(commit));

const aThing = (name: string, rest: object = {}): KubeObject => ({
  metadata: { name, namespace: "default", uid: `uid-of-${name}`, creationTimestamp: "2026-01-01T00:00:00Z" },
  ...rest,
});

const names = (storage: Storage) => storage.list("things").map(({ object }) => object.metadata.name);

/** Puts `a`, `b` and `c`, changes `a` and removes `b`. */
function writeSome(dir: string): Storage {
  using data = openDataDir(dir);
  const storage = storageIn(data);
  for (const name of ["a", "b", "c"]) storage.put("things", aThing(name));
  storage.put("things", aThing("a", { text: "two\nlines, ünïcode" }));
  storage.remove("things", aThing("b"));
  return storage;
}

describe("a data directory", () => {
  it("gives back every commit and the version that they ended at", () => {
    using dir = temporaryDir();
    const before = writeSome(dir.path);
    using data = openDataDir(dir.path);
    const after = storageIn(data);
    expect(after.state()).toEqual(before.state());
    expect(after.version).toBe(before.version);
    expect(names(after)).toEqual(["a", "c"]);
  });

  it("loses only a last record that was torn, at whichever byte", () => {
    using dir = temporaryDir();
    const journal = join(dir.path, "journal");
    const whole = writeSome(dir.path);
    const wholeLength = readFileSync(journal).length;
    {
      using data = openDataDir(dir.path);
      storageIn(data).put("things", aThing("last"));
    }
    const bytes = readFileSync(journal);
    for (let length = wholeLength; length < bytes.length; length += 1) {
      writeFileSync(journal, bytes.subarray(0, length));
      {
        using data = openDataDir(dir.path);
        const storage = storageIn(data);
        expect(storage.state()).toEqual(whole.state());
        // Later writes follow the last whole record.
        storage.put("things", aThing("next"));
      }
      using again = openDataDir(dir.path);
      expect(names(storageIn(again))).toEqual(["a", "c", "next"]);
    }
  });

  it("refuses a journal with a damaged record before whole ones", () => {
    using dir = temporaryDir();
    writeSome(dir.path);
    const journal = join(dir.path, "journal");
    const bytes = readFileSync(journal);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    writeFileSync(journal, bytes);
    expect(() => openDataDir(dir.path)).toThrow(JournalDamaged);
  });

  it("starts a new journal when the old one is much longer than the state", () => {
    using dir = temporaryDir();
    const journal = join(dir.path, "journal");
    const text = "x".repeat(1024 * 1024);
    let version = 0;
    {
      using data = openDataDir(dir.path);
      const storage = storageIn(data);
      storage.onCommit(() => data.compactIfDue(() => storage.state()));
      for (let turn = 0; turn < 20; turn += 1) storage.put("things", aThing("a", { turn, text }));
      version = storage.version;
    }
    expect(readFileSync(journal).length).toBeLessThan(5 * text.length);
    using data = openDataDir(dir.path);
    expect(data.state.version).toBe(version);
    expect(data.state.objects).toMatchObject([{ object: { turn: 19 } }]);
  });

  it("skips records that a snapshot has already", () => {
    using dir = temporaryDir();
    const text = "x".repeat(1024 * 1024);
    const journal = join(dir.path, "journal");
    let old = Buffer.alloc(0);
    {
      using data = openDataDir(dir.path);
      const storage = storageIn(data);
      for (let turn = 0; turn < 17; turn += 1) storage.put("things", aThing("a", { turn, text }));
      storage.remove("things", aThing("a"));
      old = readFileSync(journal);
      data.compactIfDue(() => storage.state());
    }
    // As if the process had died before it truncated the journal.
    writeFileSync(journal, old);
    using data = openDataDir(dir.path);
    expect(data.state.objects).toEqual([]);
    expect(data.state.version).toBe(19);
  });

  it("is for one server at a time", () => {
    using dir = temporaryDir();
    using _first = openDataDir(dir.path);
    expect(() => openDataDir(dir.path)).toThrow(DataDirInUse);
    expect(() => openDataDir(dir.path)).toThrow(`process ${process.pid} uses it`);
  });

  it.each([
    ["a process that is dead", "4194304 1"],
    ["a process whose id another one has now", `${process.pid} 1`],
    ["no process, because it was cut off", ""],
  ])("takes over the lock of %s", (_who, owner) => {
    using dir = temporaryDir();
    writeFileSync(join(dir.path, "lock"), owner);
    using _data = openDataDir(dir.path);
    expect(readFileSync(join(dir.path, "lock"), "utf8")).toContain(String(process.pid));
  });

  it.runIf(process.platform === "linux")("takes over the lock of a process that has ended unreaped", async () => {
    using dir = temporaryDir();
    const script = "sleep 600 & echo $!; exec sleep 600";
    const parent = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] });
    const [said] = await once(parent.stdout, "data");
    const pid = Number(said);
    try {
      writeFileSync(join(dir.path, "lock"), identityOfProcess(pid) ?? "");
      expect(() => openDataDir(dir.path)).toThrow(`process ${pid} uses it`);
      process.kill(pid, "SIGKILL");
      await expect.poll(() => isZombie(pid)).toBe(true);
      using _data = openDataDir(dir.path);
    } finally {
      parent.kill("SIGKILL");
    }
  });

  describe("whose lock is of a process in another namespace of processes", () => {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The id and the start time of this process say nothing there.
    const ofAnother = (pipe: string) => `4194304 1 ${boot}/1 ${pipe}`;

    it("is refused while the process holds the pipe, and says what to do", () => {
      using dir = temporaryDir();
      const lock = join(dir.path, "lock");
      using _held = holdPipe(`${lock}.pipe`);
      writeFileSync(lock, ofAnother("pipe"));
      const attempt = () => openDataDir(dir.path);
      expect(attempt).toThrow(DataDirInUse);
      expect(attempt).toThrow(`process 4194304 of another container`);
      expect(attempt).toThrow(`if that process does not run any more, remove ${lock}`);
    });

    it("is taken over once nobody holds the pipe", () => {
      using dir = temporaryDir();
      const lock = join(dir.path, "lock");
      holdPipe(`${lock}.pipe`)?.[Symbol.dispose]();
      writeFileSync(lock, ofAnother("pipe"));
      using _data = openDataDir(dir.path);
      expect(readFileSync(lock, "utf8")).toContain(String(process.pid));
      expect(isPipeHeld(`${lock}.pipe`)).toBe(true);
    });

    it("is refused if the process has no pipe, and the machine has not started again", () => {
      using dir = temporaryDir();
      const lock = join(dir.path, "lock");
      writeFileSync(lock, ofAnother("no-pipe"));
      expect(() => openDataDir(dir.path)).toThrow(DataDirInUse);
      writeFileSync(lock, "4194304 1 another-boot/1 no-pipe");
      using _data = openDataDir(dir.path);
    });
  });

  it.each([
    ["is missing", undefined],
    ["is of a dead process", "4194304 1"],
  ])("whose lock %s is refused while a process holds the pipe", (_which, text) => {
    using dir = temporaryDir();
    const lock = join(dir.path, "lock");
    const first = openDataDir(dir.path);
    rmSync(lock);
    if (text !== undefined) writeFileSync(lock, text);
    expect(() => openDataDir(dir.path)).toThrow(DataDirInUse);
    first[Symbol.dispose]();
    using _data = openDataDir(dir.path);
  });

  it("has no held pipe any more once it is closed", () => {
    using dir = temporaryDir();
    openDataDir(dir.path)[Symbol.dispose]();
    expect(isPipeHeld(join(dir.path, "lock.pipe"))).toBe(false);
  });

  it.each(["lock.PID", "lock.stale.PID"])(
    "takes over a lock whose owner was killed while it was named %s too",
    (name) => {
      using dir = temporaryDir();
      const lock = join(dir.path, "lock");
      writeFileSync(lock, `${process.pid} 1`);
      linkSync(lock, join(dir.path, name.replace("PID", String(process.pid))));
      using _data = openDataDir(dir.path);
      expect(() => openDataDir(dir.path)).toThrow(DataDirInUse);
    },
  );
});

const writer = `
  import { openDataDir } from ${JSON.stringify(join(import.meta.dirname, "data-dir.ts"))};
  import { Storage } from ${JSON.stringify(join(import.meta.dirname, "storage.ts"))};
  import { writeSync } from "node:fs";
  const data = openDataDir(process.argv[1]);
  const storage = new Storage(data.state, (commit) => data.record(commit));
  for (let count = 0; ; count += 1) {
    const metadata = { name: "count", uid: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
    const entry = storage.put("things", { metadata, count });
    writeSync(1, entry.object.metadata.resourceVersion + "\\n");
  }
`;

async function lastAcknowledged(child: ChildProcess, lines: number): Promise<number> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += chunk;
    // The child writes until it is killed; every acknowledged write counts.
    if (text.split("\n").length > lines) child.kill("SIGKILL");
  }
  return Number(text.split("\n").at(-2));
}

it("a data directory has everything that a killed process had acknowledged", async () => {
  using dir = temporaryDir();
  for (const lines of [1, 50, 500]) {
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", writer, dir.path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    const acknowledged = await lastAcknowledged(child, lines);
    await exited;
    using data = openDataDir(dir.path);
    expect(data.state.version).toBeGreaterThanOrEqual(acknowledged);
  }
});
