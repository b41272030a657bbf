import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import type { Release } from "./make-release.ts";
import { publishRelease } from "./publish.ts";

const registry = "registry.example/rouse";

/** A registry behind a crane: each archive is pushed with the digest that the release names. */
async function publish(published: Map<string, string>, digests: Readonly<Record<string, string>>, failsFor?: string) {
  const pushed: string[] = [];
  const run = async (program: string, [command, ...args]: readonly string[]) => {
    if (program !== "crane") return "";
    const image = args.at(-1) ?? "";
    if (command === "digest") {
      const found = published.get(image);
      if (found === undefined) throw new Error(`crane digest ${image}: MANIFEST_UNKNOWN: manifest unknown`);
      return `${found}\n`;
    }
    if (image === failsFor) throw new Error("502 Bad Gateway");
    pushed.push(image);
    published.set(image, digests[basename(args[0] ?? "")] ?? "");
    return "";
  };
  const oci = Object.entries(digests).map(([name, digest]) => ({ name, file: `${name}.oci.tar`, digest }));
  const release: Release = { version: "0.1.0", commit: "abc", created: "now", registry, oci };
  await publishRelease(release, "out", { run, crane: "crane", say: () => {} });
  return pushed;
}

const [activator, controller] = [`${registry}/activator:0.1.0`, `${registry}/controller:0.1.0`];
const digests = { activator: "sha256:a", controller: "sha256:c" };

describe("publishing a release", () => {
  it("pushes what is missing, and leaves what is there", async () => {
    expect(await publish(new Map(), digests)).toEqual([activator, controller]);
    expect(await publish(new Map([[activator, "sha256:a"]]), digests)).toEqual([controller]);
  });

  it("goes on after a push that failed with what is not there yet", async () => {
    const published = new Map<string, string>();
    await expect(publish(published, digests, controller)).rejects.toThrow("502 Bad Gateway");
    expect([...published.keys()]).toEqual([activator]);
    expect(await publish(published, digests)).toEqual([controller]);
  });

  it("never replaces a published version, and pushes nothing if one name has other content", async () => {
    const published = new Map([[controller, "sha256:other"]]);
    await expect(publish(published, digests)).rejects.toThrow("a release is never replaced");
    expect([...published]).toEqual([[controller, "sha256:other"]]);
  });
});
