import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { missingPrograms } from "./examples.ts";
import {
  describeLateStart,
  describeMissingProgram,
  describeNextSteps,
  describeStop,
  describeTakenPort,
} from "./messages.ts";

const addresses = {
  api: "https://127.0.0.1:6443",
  kubeconfig: "/home/ada/rouse/.rouse/kubeconfig",
  activator: "http://127.0.0.1:8080",
  metrics: "http://127.0.0.1:9090/metrics",
  domain: "sandbox.localhost",
};

describe("the output of local mode", () => {
  it("names commands that work as they stand: the example's own address and the kubeconfig's path", () => {
    const text = describeNextSteps(addresses, true);
    expect(text).toContain("export KUBECONFIG=/home/ada/rouse/.rouse/kubeconfig");
    expect(text).toContain("curl http://hello.default.sandbox.localhost:8080/");
  });

  it("names a kubeconfig whose path has a space or a quote as one word of a shell", () => {
    const kubeconfig = "/home/ada/my 'own' folder/kubeconfig";
    const word = `'/home/ada/my '\\''own'\\'' folder/kubeconfig'`;
    expect(describeNextSteps({ ...addresses, kubeconfig }, true)).toContain(`export KUBECONFIG=${word}\n`);
    expect(describeLateStart(["kubelet", "controller"], kubeconfig)).toContain(`--kubeconfig=${word} get`);
  });

  it("does not mention the examples without them", () => {
    expect(describeNextSteps(addresses, false)).not.toContain("hello");
  });

  it("lists at the end what stays, and the flag that keeps no data", () => {
    expect(describeStop("/home/ada/rouse/.rouse")).toBe(
      "Stopping ... Objects, volumes and logs stay in /home/ada/rouse/.rouse; --ephemeral keeps nothing.",
    );
    expect(describeStop(undefined)).toBe("Stopping ...");
  });

  it("names each example whose program the machine does not have", () => {
    const examples = join(import.meta.dirname, "..", "examples");
    const node = dirname(process.execPath);
    expect(missingPrograms(examples, node).map(describeMissingProgram)).toEqual([
      "The sandbox notebook cannot start: this machine does not have the program jupyter.",
    ]);
  });

  it("names the flag for a port that is in use", () => {
    expect(describeTakenPort(8080, "activator", "--port")).toBe(
      "port 8080 for the activator is in use, or this user has no right to it; choose another with --port (0 means any)",
    );
  });
});
