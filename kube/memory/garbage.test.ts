import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/meta.ts";
import { decideGarbage, type OwnerState } from "./garbage.ts";

const owner = (uid: string, blockOwnerDeletion = false) => ({
  apiVersion: "v1",
  kind: "Owner",
  name: uid,
  uid,
  blockOwnerDeletion,
});

const ownedBy = (...ownerReferences: ReturnType<typeof owner>[]): KubeObject => ({
  metadata: { uid: "it", ownerReferences },
});
const leaving = (...finalizers: string[]): KubeObject => ({
  metadata: { uid: "it", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers },
});
const child = (blocks: boolean): KubeObject => ownedBy(owner("it", blocks));

const decide = (
  object: KubeObject,
  owners: Readonly<Record<string, OwnerState>> = {},
  dependents: readonly KubeObject[] = [],
) => decideGarbage({ object, dependents, ownerState: ({ uid }) => owners[uid] ?? "absent" });

describe("the garbage collector", () => {
  it("leaves alone what has no owner, or one that is there", () => {
    expect(decide(ownedBy())).toEqual({ do: "nothing" });
    expect(decide(ownedBy(owner("a")), { a: "present" })).toEqual({ do: "nothing" });
  });

  it("deletes what has lost every owner", () => {
    expect(decide(ownedBy(owner("a"), owner("b")))).toEqual({ do: "delete", policy: "Background" });
  });

  it("only takes lost owners off what another one still wants", () => {
    const states: Readonly<Record<string, OwnerState>> = { a: "present", b: "absent", c: "waiting" };
    expect(decide(ownedBy(owner("a"), owner("b"), owner("c")), states)).toEqual({ do: "dropOwners", uids: ["b", "c"] });
  });

  it("deletes what an owner waits for, and has its own dependents waited for as well", () => {
    expect(decide(ownedBy(owner("a")), { a: "waiting" })).toEqual({ do: "delete", policy: "Background" });
    expect(decide(ownedBy(owner("a")), { a: "waiting" }, [child(true)])).toEqual({
      do: "delete",
      policy: "Foreground",
    });
  });

  it("lets an owner go that waits for dependents that do not block it", () => {
    const removal = { do: "removeFinalizer", finalizer: "foregroundDeletion" };
    expect(decide(leaving("foregroundDeletion"), {}, [child(false)])).toEqual(removal);
    expect(decide(leaving("foregroundDeletion"), {}, [child(true)])).toEqual({ do: "askDependents" });
  });

  it("frees the dependents of an owner that orphans them, then lets it go", () => {
    expect(decide(leaving("orphan"), {}, [child(true)])).toEqual({ do: "orphanDependents" });
    expect(decide(leaving("orphan"))).toEqual({ do: "removeFinalizer", finalizer: "orphan" });
  });

  it("does not touch the finalizers of others", () => {
    expect(decide(leaving("rouse.dev/mine"))).toEqual({ do: "nothing" });
  });
});
