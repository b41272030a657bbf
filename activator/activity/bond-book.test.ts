import { describe, expect, it } from "vitest";
import { sealedPodAnnotation } from "../../api/keys.ts";
import { formatSeal } from "../../api/suspension.ts";
import { aSandbox } from "../../test/support/builders.ts";
import { BondBook } from "./bond-book.ts";

const running = aSandbox({ operatingMode: "Running" });
const { uid } = running.metadata;
const seal = formatSeal({ podName: "nova", podUid: "p1", cause: "Inactivity", at: "2026-01-01T00:00:00Z" });
const sealed = {
  ...running,
  metadata: { ...running.metadata, annotations: { [sealedPodAnnotation]: seal } },
};

function book() {
  const told: string[] = [];
  return { bonds: new BondBook((_sandboxUid, podUid) => told.push(podUid)), told };
}

const forsworn = (bonds: BondBook) => [...bonds.of(uid).forsworn];

describe("what an activator is bound by", () => {
  it("is a seal that it has seen, after the seal was taken off too, until that Pod has been seen gone (design 3.4)", () => {
    const { bonds, told } = book();
    bonds.sandboxSeen(sealed);
    bonds.sandboxSeen(sealed);
    bonds.sandboxSeen(running);
    expect(forsworn(bonds)).toEqual(["p1"]);
    expect(told).toEqual(["p1"]);
    bonds.podGone(uid, "another");
    expect(forsworn(bonds)).toEqual(["p1"]);
    bonds.podGone(uid, "p1");
    expect(forsworn(bonds)).toEqual([]);
  });

  it("is nothing for a Pod that was seen gone before its seal", () => {
    const { bonds } = book();
    bonds.sandboxSeen(sealed);
    bonds.podGone(uid, "p1");
    bonds.sandboxSeen(sealed);
    expect(forsworn(bonds)).toEqual([]);
  });

  it("is a promise about a Pod and a sandbox that it has not seen", () => {
    const { bonds } = book();
    bonds.forswear("unseen", "p9");
    expect([...bonds.of("unseen").forsworn]).toEqual(["p9"]);
    bonds.sandboxGone("unseen");
    expect(bonds.of("unseen").forsworn.size).toBe(0);
  });

  it("is a generation that it was told of, until it sees that one or a later one (design 3.2)", () => {
    const { bonds } = book();
    const at = (generation: number) => ({ ...running, metadata: { ...running.metadata, generation } });
    bonds.told(uid, 5, 4);
    bonds.told(uid, 3, 2);
    expect(bonds.of(uid).toldGeneration).toBe(5);
    bonds.sandboxSeen(at(4));
    expect(bonds.of(uid).toldGeneration).toBe(5);
    bonds.sandboxSeen(at(6));
    expect(bonds.of(uid).toldGeneration).toBe(0);
  });

  it("is no generation that it has seen already", () => {
    const { bonds } = book();
    bonds.told(uid, 5, 5);
    expect(bonds.of(uid).toldGeneration).toBe(0);
  });
});
