import { describe, expect, it } from "vitest";
import type { EndpointSlice } from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { aFrontSlice } from "../../../test/support/labs/tcp-front-lab.ts";
import { NamespacePorts } from "./namespace-ports.ts";
import { PortKeepers } from "./port-keepers.ts";

function slice(uid: string, created = "10:00:00"): Stored<EndpointSlice> {
  const made = aFrontSlice({ sandboxName: "nova", sandboxUid: uid, ports: [] });
  const stored = { uid, resourceVersion: "1", creationTimestamp: `2026-01-01T${created}Z` };
  return { ...made, metadata: { name: uid, ...made.metadata, ...stored } };
}

const always = () => true;
function some() {
  const ofNamespace = new NamespacePorts();
  return { ofNamespace, keepers: new PortKeepers(ofNamespace) };
}
const [older, younger, twin] = [slice("u2", "09:59:59"), slice("u1"), slice("u3")];

describe("an activator port that several slices name", () => {
  it("belongs to the oldest when they are seen at once, in any order", () => {
    for (const naming of [
      [older, younger, twin],
      [twin, younger, older],
    ]) {
      expect(some().keepers.choose(10_001, naming, always)).toBe(older);
    }
    expect(some().keepers.choose(10_001, [twin, younger], always)).toBe(younger);
  });

  it("stays with the slice that was seen first, in each of its versions, as long as that names it", () => {
    const { keepers, ofNamespace } = some();
    keepers.choose(10_001, [younger], always);
    const next = { ...younger };
    expect(keepers.choose(10_001, [older, next, twin], always)).toBe(next);
    expect([keepers.has(10_001, younger), keepers.has(10_001, older)]).toEqual([true, false]);
    expect(keepers.choose(10_001, [older, twin], always)).toBe(older);
    expect(ofNamespace.of("default")).toBe(1);
    expect(keepers.choose(10_001, [], always)).toBeUndefined();
    expect([ofNamespace.of("default"), keepers.has(10_001, older)]).toEqual([0, false]);
  });

  it("belongs to no slice of a namespace without room, and to its slice once there is room", () => {
    const { keepers, ofNamespace } = some();
    expect(keepers.choose(10_001, [older], () => false)).toBeUndefined();
    const ofAnother = { ...younger, metadata: { ...younger.metadata, namespace: "other" } };
    const onlyOther = (namespace: string) => namespace === "other";
    expect(keepers.choose(10_001, [older, ofAnother], onlyOther)).toBe(ofAnother);
    expect([ofNamespace.of("default"), ofNamespace.of("other")]).toEqual([0, 1]);
    expect(keepers.choose(10_002, [older], always)).toBe(older);
  });
});
