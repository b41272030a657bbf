import { describe, expect, it } from "vitest";
import { ConfigError, parseAgentConfig } from "./config.ts";

describe("the node agent's command line", () => {
  it("needs only the name of the node, which the environment may have", () => {
    expect(parseAgentConfig([], { NODE_NAME: "node-1", POD_NAMESPACE: "rouse" })).toEqual({
      namespace: "rouse",
      ...{ version: false, kubeconfig: undefined, logLevel: "info", nodeName: "node-1", storeRoot: "/var/lib/rouse" },
      runsc: { program: "/usr/local/bin/runsc", root: "/run/containerd/runsc/k8s.io" },
      limits: { maxStoreBytes: 0, minFreeBytes: 1_073_741_824, maxNamespacePercent: 50 },
      minFreePercent: 15,
      threads: 4,
      metricsAddress: { host: undefined, port: 8080 },
      healthAddress: { host: undefined, port: 8081 },
    });
    expect(parseAgentConfig([], { NODE_NAME: "a", POD_NAMESPACE: "n", UV_THREADPOOL_SIZE: "64" }).threads).toBe(64);
    expect(parseAgentConfig(["--node-name=a", "--namespace=n"], { NODE_NAME: "b" }).nodeName).toBe("a");
  });

  it("is refused with all invalid values at once", () => {
    const refused = () => parseAgentConfig(["--store=images", "--metrics-bind-address=8080", "stray"]);
    expect(refused).toThrow(ConfigError);
    for (const text of ["--node-name", "--store must be", "8080", "stray"]) expect(refused).toThrow(text);
    expect(() => parseAgentConfig(["--min-free-percent=101"])).toThrow("--min-free-percent: must be from 0 to 100");
    expect(() => parseAgentConfig(["--max-namespace-percent=0"])).toThrow("must be from 1 to 100");
    expect(() => parseAgentConfig(["--max-store-bytes=-1"])).toThrow("--max-store-bytes: must not be negative");
  });
});
