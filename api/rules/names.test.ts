import { describe, expect, it } from "vitest";
import {
  isDnsLabel,
  isDnsSubdomain,
  nameHash,
  sandboxSelector,
  serviceFqdn,
  volumeClaimName,
  warmPoolSelector,
} from "./names.ts";

describe("the hash of a name", () => {
  it.each([
    ["", "811c9dc5"],
    ["a", "e40c292c"],
    ["my-sandbox", "374de8f5"],
    ["sandbox-name", "ab179450"],
    ["test-pool", "59733166"],
    ["test-template", "69155462"],
    ["my-warm-pool", "034dafb4"],
    ["vct-sandbox", "6936fe48"],
    ["python-warmpool", "99619c39"],
    ["tpl", "9d22159f"],
    ["é", "1e9de8c1"],
  ])("of %j is %s, as every other implementation computes it", (name, hash) => {
    expect(nameHash(name)).toBe(hash);
  });
});

describe("a DNS name", () => {
  it.each(["a", "0", "a-b", "x".repeat(63)])("%j is a label and a subdomain", (name) => {
    expect(isDnsLabel(name)).toBe(true);
    expect(isDnsSubdomain(name)).toBe(true);
  });

  it.each(["a.b", "x".repeat(64), "1.2.3"])("%j is a subdomain, but not a label", (name) => {
    expect(isDnsLabel(name)).toBe(false);
    expect(isDnsSubdomain(name)).toBe(true);
  });

  it.each(["", "A", "-a", "a-", "a_b", "a..b", ".a", "a.", "a\n", "x".repeat(254)])("%j is neither", (name) => {
    expect(isDnsLabel(name)).toBe(false);
    expect(isDnsSubdomain(name)).toBe(false);
  });
});

it("names the objects of a sandbox as in the contract", () => {
  expect(volumeClaimName("data", "nova")).toBe("data-nova");
  expect(serviceFqdn("nova", "team", "cluster.local")).toBe("nova.team.svc.cluster.local");
  expect(sandboxSelector("my-sandbox")).toBe("agents.x-k8s.io/sandbox-name-hash=374de8f5");
  expect(warmPoolSelector("my-warm-pool")).toBe("agents.x-k8s.io/warm-pool-sandbox=034dafb4");
});
