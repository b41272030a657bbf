import { describe, expect, it } from "vitest";
import { describeNextSteps, describeTakenPort, describeTimeline } from "./words.ts";

const addresses = {
  api: "https://127.0.0.1:6443",
  kubeconfig: "/home/ada/rouse/.rouse/kubeconfig",
  activator: "http://127.0.0.1:8080",
  metrics: "http://127.0.0.1:9090/metrics",
  domain: "sandbox.localhost",
};

describe("what local mode says", () => {
  it("lines up the timeline of a wake in milliseconds, and says where a step was not seen", () => {
    const text = describeTimeline({ wakePatched: 2.04, podCreated: 6, portAccepted: 58.26, firstByte: undefined });
    expect(text).toBe(
      [
        "  connection seen     0.0 ms",
        "  wake patched        2.0 ms",
        "  Pod created         6.0 ms",
        "  port accepts       58.3 ms",
        "  first byte               ?",
        "",
      ].join("\n"),
    );
  });

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
