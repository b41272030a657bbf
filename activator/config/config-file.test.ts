import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseActivatorConfig } from "./config.ts";
import { ConfigError } from "./config-error.ts";
import { fileFlags } from "./config-file.ts";

const open = ["--authz-mode=allow-all"];

async function withFile<T>(text: string, work: (path: string) => Promise<T>): Promise<T> {
  await using directory = await mkdtempDisposable(join(tmpdir(), "activator-config-"));
  const path = join(directory.path, "router.yaml");
  await writeFile(path, text);
  return await work(path);
}

const read = (text: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
  withFile(text, async (path) => {
    const all = [...open, `--config=${path}`, ...args];
    return parseActivatorConfig([...(await fileFlags(all, env)), ...all], env);
  });

describe("the configuration file of the activator", () => {
  it("sets flags by name; the command line wins over it, and it wins over the environment", async () => {
    const text = "proxy-timeout: 20s\naccess-log: false\nheld-max-total: 7\ncluster-domain: file.local\n";
    const env = { PROXY_TIMEOUT_SECONDS: "1", CLUSTER_DOMAIN: "env.local" };
    const config = await read(text, ["--cluster-domain=flag.local"], env);
    expect(config).toMatchObject({ proxyTimeoutMs: 20_000, accessLog: false, clusterDomain: "flag.local" });
    expect(config.slots.total).toBe(7);
    expect((await read("")).proxyTimeoutMs).toBe(900_000);
  });

  it("may be named by the environment, and is optional", async () => {
    await withFile("domain: x.y", async (path) => {
      expect(await fileFlags(open, { SANDBOX_ROUTER_CONFIG: path })).toEqual(["--domain=x.y"]);
    });
    expect(await fileFlags(open, {})).toEqual([]);
  });

  it.each([
    ["proxy-timout: 20s", /unknown config key: proxy-timout/],
    ["config: other.yaml", /unknown config key: config/],
    ["authz-mode: [allow-all]", /authz-mode must be a scalar/],
    ["domain: {a: b}", /domain must be a scalar/],
    ["- domain", /must be a map/],
    ["a: b: c", /cannot be read/],
  ])("is refused with %s", async (text, message) => {
    await expect(read(text)).rejects.toThrow(ConfigError);
    await expect(read(text)).rejects.toThrow(message);
  });

  it("must exist if it is named", async () => {
    await expect(fileFlags(["--config=/nowhere"], {})).rejects.toThrow(
      /the config file \/nowhere cannot be read: .*ENOENT/,
    );
  });
});
