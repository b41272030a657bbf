import { describe, expect, it } from "vitest";
import { describeNextSteps, describeTakenPort } from "./words.ts";

const addresses = {
  api: "https://127.0.0.1:6443",
  kubeconfig: "/home/ada/rouse/.rouse/kubeconfig",
  activator: "http://127.0.0.1:8080",
  metrics: "http://127.0.0.1:9090/metrics",
  domain: "sandbox.localhost",
};

describe("what local mode says", () => {
  it("names commands that work as they stand: the example's own address and the kubeconfig's path", () => {
    const text = describeNextSteps(addresses, true);
    expect(text).toContain("export KUBECONFIG=/home/ada/rouse/.rouse/kubeconfig");
    expect(text).toContain("curl http://hello.default.sandbox.localhost:8080/");
  });

  it("does not speak of the examples where there are none", () => {
    expect(describeNextSteps(addresses, false)).not.toContain("hello");
  });

  it("names the flag that changes a taken port", () => {
    expect(describeTakenPort(8080, "activator", "--port")).toBe(
      "port 8080 for the activator is taken; choose another with --port (0 means any)",
    );
  });
});
