import { describe, expect, it, vi } from "vitest";
import { openAgentWorld } from "../../test/support/labs/agent-world.ts";
import { stateOf } from "../../test/support/labs/node-lab.ts";
import { canMountDisks, mountSmallDisk } from "../../test/support/labs/small-disk.ts";
import { Files } from "./doors/files.ts";

/** Files of a disk that at some time takes no new ones. */
class FailingFiles extends Files {
  code: string | undefined;
  trialCode: string | undefined;
  breaksInCapture = false;

  override async makeFolder(path: string): Promise<void> {
    this.#check();
    await super.makeFolder(path);
    if (this.breaksInCapture && path.endsWith(".part")) this.code = this.trialCode = "EROFS";
  }

  override async create(path: string, text: string): Promise<void> {
    this.#check();
    await super.create(path, text);
  }

  override async remove(path: string): Promise<void> {
    this.#check();
    await super.remove(path);
  }

  override async tryWrite(path: string): Promise<void> {
    if (this.trialCode !== undefined) throw Object.assign(new Error(this.trialCode), { code: this.trialCode });
    await super.tryWrite(path);
  }

  #check(): void {
    if (this.code !== undefined) throw Object.assign(new Error(this.code), { code: this.code });
  }
}

describe("a store that takes no new file", () => {
  it.runIf(canMountDisks)("is what the preflight says, and a capture fails at once, without a freeze", async () => {
    await using disk = await mountSmallDisk(64);
    await using world = await openAgentWorld({ storeRoot: disk.path });
    await disk.makeReadOnly();
    await world.settle();
    expect(world.api.image?.status?.preflight).toMatchObject({ capturable: false, reason: "StoreReadOnly" });
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "StoreReadOnly" });
    expect(world.lab.calls("pause")).toBe(0);
    const counted = 'rouse_node_capture_failures_total{reason="StoreReadOnly"}';
    expect(await world.metric(counted)).toEqual([`${counted} 1`]);
  });

  it("although it has bytes left fails a capture at once", async () => {
    const files = new FailingFiles();
    files.trialCode = "ENOSPC";
    await using world = await openAgentWorld({ files });
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "DiskFull" });
  });

  it("from the moment of a capture on fails it at once, without a record and without a freeze", async () => {
    const files = new FailingFiles();
    await using world = await openAgentWorld({ files });
    await world.settle();
    files.code = "EROFS";
    await world.capture();
    expect(world.api.image?.status).toMatchObject({ phase: "Failed", reason: "CheckpointFailed", message: "EROFS" });
    expect(world.lab.calls("pause")).toBe(0);
    expect(stateOf(world.pod.sentry)).toMatch(/^[SRD]$/);
  });

  it("from the middle of a capture on fails it at once and ends its Pod, and is cleared later", async () => {
    const files = new FailingFiles();
    await using world = await openAgentWorld({ files });
    files.breaksInCapture = true;
    using _failure = world.lab.letFail("checkpoint", "fails", "input/output error");
    await expect(world.capture()).rejects.toThrow("takes no new file");
    const failed = { phase: "Failed", reason: "CheckpointFailed" };
    expect(world.api.image?.status).toMatchObject(failed);
    expect(world.api.image?.status?.message).toContain("input/output error");
    expect(await world.metric("rouse_node_capture_failures_total")).toContain(
      'rouse_node_capture_failures_total{reason="Interrupted"} 0',
    );
    await vi.waitFor(() => expect(stateOf(world.pod.sentry)).toMatch(/^Z?$/), 5_000);
    files.code = files.trialCode = undefined;
    await world.settle();
    expect(world.lab.files()).toEqual([]);
    expect(world.api.image?.status).toMatchObject(failed);
  });
});
