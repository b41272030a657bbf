import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
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
) => decideGarbage({ object, dependents, ownerState: ({ uid }) => owners[uid] ?? "absent", isInCycle: () => false });

const decideInCycle = (object: KubeObject, ownerState: () => OwnerState = () => "waiting") =>
  decideGarbage({ object, dependents: [child(true)], ownerState, isInCycle: () => true });

describe("the garbage collector", () => {
  it("keeps an object without an owner, or with an existing one", () => {
    expect(decide(ownedBy())).toEqual({ do: "nothing" });
    expect(decide(ownedBy(owner("a")), { a: "present" })).toEqual({ do: "nothing" });
  });

  it("deletes an object that has lost every owner", () => {
    expect(decide(ownedBy(owner("a"), owner("b")))).toEqual({ do: "delete", policy: "Background" });
  });

  it("removes only the lost owners if another one is left", () => {
    const states: Readonly<Record<string, OwnerState>> = { a: "present", b: "absent", c: "waiting" };
    expect(decide(ownedBy(owner("a"), owner("b"), owner("c")), states)).toEqual({ do: "dropOwners", uids: ["b", "c"] });
  });

  it("keeps and reports an object with an owner that it cannot have, also when it has lost the others", () => {
    const states: Readonly<Record<string, OwnerState>> = { a: "absent", b: "impossible", c: "waiting" };
    expect(decide(ownedBy(owner("a"), owner("b"), owner("c")), states)).toEqual({ do: "report", owners: [owner("b")] });
  });

  it("deletes a dependent that an owner waits for, in the foreground as well", () => {
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

  it("ends the wait of the owners of an object that waits for itself", () => {
    expect(decideInCycle(leaving("foregroundDeletion"))).toEqual({ do: "unblockOwners" });
    const deletion = { do: "delete", policy: "Foreground", unblockOwners: true };
    expect(decideInCycle(ownedBy(owner("a", true)))).toEqual(deletion);
    expect(decideInCycle(ownedBy(owner("a", true)), () => "present")).toEqual({ do: "nothing" });
  });

  it("frees the dependents of an owner that orphans them, then lets it go", () => {
    expect(decide(leaving("orphan"), {}, [child(true)])).toEqual({ do: "orphanDependents" });
    expect(decide(leaving("orphan"))).toEqual({ do: "removeFinalizer", finalizer: "orphan" });
  });

  it("does not touch the finalizers of others", () => {
    expect(decide(leaving("rouse.dev/mine"))).toEqual({ do: "nothing" });
  });
});
