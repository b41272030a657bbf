import { describe, expect, it } from "vitest";
import { describeAddresses, describeKeptMemory, describeNextSteps } from "./messages.ts";

const addresses = {
  api: "https://198.19.0.1:16443",
  activator: "http://198.18.7.7:8080",
  kubeconfig: "/cluster/kubeconfig/admin",
  programs: "/cluster/bin",
};
const release = { name: "rouse", namespace: "agent-sandbox-system" };

describe("the output of npm run cluster", () => {
  it("lines up where everything is", () => {
    expect(describeAddresses(addresses).split("\n").slice(0, 2)).toEqual([
      "  API server     https://198.19.0.1:16443",
      "  activator      http://198.18.7.7:8080",
    ]);
  });

  it("tells what a sandbox said before it slept with its memory and after", () => {
    const text = describeKeptMemory({
      before: "12",
      asleep: { state: "Hibernated", bytes: 16_145_998, node: "n1", durationMilliseconds: 330 },
      after: "14",
      wake: { mode: "Restored", durationMilliseconds: 652 },
    });
    expect(text.split("\n").map((line) => line.trim())).toEqual([
      'awake   "12"',
      "asleep  16.1 MB of memory on n1, captured in 330 ms",
      'woken   "14"',
      "restored in 652 ms",
      "",
    ]);
  });

  it("names commands that work as they stand: kubeconfig, programs, token and the activator's address", () => {
    const text = describeNextSteps(addresses, release, "hello.default.sandbox.localhost");
    expect(text).toContain("export KUBECONFIG=/cluster/kubeconfig/admin PATH=/cluster/bin:$PATH\n");
    expect(text).toContain("TOKEN=$(kubectl --namespace agent-sandbox-system get secret sandbox-router-token ");
    expect(text).toContain("-H 'Host: hello.default.sandbox.localhost' http://198.18.7.7:8080/\n");
  });
});
