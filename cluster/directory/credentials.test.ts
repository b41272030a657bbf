import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../lib/time/clock.ts";
import { layoutOf } from "../layout.ts";
import { makeCredentials } from "./credentials.ts";

describe("the certificates of a cluster", () => {
  it("are created once", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-cluster-"));
    const layout = layoutOf(folder.path);
    await makeCredentials(layout, systemClock);
    const read = () => ["ca.crt", "apiserver.crt", "etcd.key"].map((name) => readFileSync(layout.pki(name), "utf8"));
    const first = read();
    await makeCredentials(layout, systemClock);
    expect(read()).toEqual(first);
    // A clock that was ahead when they were created can be corrected.
    expect(new X509Certificate(first[1] ?? "").validFromDate.getUTCFullYear()).toBe(1970);
  });

  it.each(["ca.crt", "ca.key", "apiserver.crt", "etcd.key"])(
    "are created again where %s is not whole",
    async (name) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-cluster-"));
      const layout = layoutOf(folder.path);
      await makeCredentials(layout, systemClock);
      writeFileSync(layout.pki(name), readFileSync(layout.pki(name)).subarray(0, 100));
      await makeCredentials(layout, systemClock);
      const certificateOf = (each: string) => new X509Certificate(readFileSync(layout.pki(`${each}.crt`)));
      const issuer = certificateOf("ca").publicKey;
      expect(["ca", "apiserver", "etcd", "admin"].map((each) => certificateOf(each).verify(issuer))).not.toContain(
        false,
      );
    },
  );
});
