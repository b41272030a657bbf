import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultLabelDomains, parseLabelDomains, readLabelDomains } from "./allowed-label-domains.ts";

describe("the domains that labels may be in", () => {
  it.each([
    ["one.example,two.example", ["one.example", "two.example"]],
    [" One.Example \n\n,two.example\n", ["one.example", "two.example"]],
    ["Example.com, foo.io\n", ["example.com", "foo.io"]],
    ["", defaultLabelDomains],
    [" ,\n", defaultLabelDomains],
  ])("read from %o are %o", (text, domains) => {
    expect(parseLabelDomains(text)).toEqual(domains);
  });

  it("are the default where there is no file", async () => {
    expect(await readLabelDomains(join(tmpdir(), "there-is-no-such-file"))).toEqual(defaultLabelDomains);
  });

  it("are read from a file, and an unreadable file is an error", async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), "label-domains-"));
    const file = join(directory.path, "allowed-label-domains");
    await writeFile(file, "corp.example\n");
    expect(await readLabelDomains(file)).toEqual(["corp.example"]);
    await expect(readLabelDomains(directory.path)).rejects.toThrow(`cannot read the allowed label domains from`);
  });
});
