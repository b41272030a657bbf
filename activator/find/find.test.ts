import { describe, expect, it } from "vitest";
import { aSandbox } from "../../test/support/labs/activator-world.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { HeaderPair, RequestHead } from "../request.ts";
import { find, hostNamesSandbox, type Lookup } from "./find.ts";

const options = {
  domain: "sandbox.localhost",
  clusterDomain: "cluster.local",
  serviceNames: ["sandbox-router-svc"],
  allowLoopbackPodIp: false,
};
const container = {
  name: "main",
  image: "program",
  ports: [
    { containerPort: 53, protocol: "UDP" },
    { containerPort: 3000, protocol: "" },
  ],
};
const taken = aSandbox("warm-1", {
  podTemplate: { spec: { containers: [{ name: "main", ports: [{ containerPort: 5000 }] }] } },
});
const nova = aSandbox("nova", { podTemplate: { spec: { containers: [container] } } });
const known: Lookup = {
  sandbox: (namespace, name) => (namespace === "lab" && name === "nova" ? nova : undefined),
  claimed: (namespace, name) => (namespace === "lab" && (name === "task" || name === "nova") ? taken : undefined),
};

function head(host: string, headers: Record<string, string> | readonly HeaderPair[] = {}): RequestHead {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
  return { method: "GET", protocol: "HTTP/1.1", target: "/", host, headers: pairs, peer: "10.0.0.1", upgrade: false };
}

function found(host: string, headers: Record<string, string> | readonly HeaderPair[] = {}) {
  try {
    const { namespace, name, port, byHost, refusal } = find(head(host, headers), options, known);
    if (refusal) throw refusal;
    return `${namespace}/${name}:${port ?? ""}${byHost ? " by host" : ""}`;
  } catch (error) {
    if (!(error instanceof ActivatorError)) throw error;
    return `${error.status} ${error.code}`;
  }
}

describe("with a list of hosts on which headers may name a sandbox", () => {
  const listed = { ...options, headerHosts: ["localhost", "127.0.0.1", "[::1]", "box.example"] };
  const answer = (host: string) => {
    try {
      const { name, refusal } = find(
        head(host, { "x-sandbox-id": "nova", "x-sandbox-namespace": "lab" }),
        listed,
        known,
      );
      return refusal?.code ?? name;
    } catch (error) {
      return error instanceof ActivatorError ? error.code : error;
    }
  };

  it.each([
    "localhost:8080",
    "LocalHost",
    "127.0.0.1:9000",
    "[::1]:8080",
    "box.example.",
    "nova.lab.sandbox.localhost",
  ])("%s reaches it", (host) => {
    expect(answer(host)).toBe("nova");
  });

  it.each([
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.2",
    "[::2]",
    "",
    "sandbox-router-svc.lab.svc",
    "8.8.8.8",
  ])("%s is refused", (host) => {
    expect(answer(host)).toBe("ForeignHost");
  });
});

describe("a host", () => {
  it.each([
    ["nova.lab.sandbox.localhost", "lab/nova:3000 by host"],
    ["nova.lab.sandbox.localhost:8080", "lab/nova:3000 by host"],
    ["NOVA.Lab.Sandbox.Localhost.", "lab/nova:3000 by host"],
    ["8080--nova--lab.sandbox.localhost", "lab/nova:8080 by host"],
    ["other.lab.sandbox.localhost", "lab/other: by host"],
    ["task.lab.sandbox.localhost", "lab/warm-1:5000 by host"],
    ["8080--task--lab.sandbox.localhost", "lab/warm-1:8080 by host"],
    ["task.other.sandbox.localhost", "other/task: by host"],
    ["nova.lab.svc", "lab/nova:3000 by host"],
    ["nova.lab.svc.cluster.local:80", "lab/nova:3000 by host"],
    ["nova--lab.sandbox.localhost", "404 UnknownHost"],
    ["8080--no--va--lab.sandbox.localhost", "404 UnknownHost"],
    ["0--nova--lab.sandbox.localhost", "404 UnknownHost"],
    ["65536--nova--lab.sandbox.localhost", "404 UnknownHost"],
    ["+80--nova--lab.sandbox.localhost", "400 MalformedRequest"],
    ["8080---nova--lab.sandbox.localhost", "404 UnknownHost"],
    ["a.nova.lab.sandbox.localhost", "404 UnknownHost"],
    ["nova@lab.sandbox.localhost", "400 MalformedRequest"],
    ["sandbox.localhost", "400 MissingSandboxId"],
    ["127.0.0.1:8080", "400 MissingSandboxId"],
    ["[::1]:8080", "400 MissingSandboxId"],
    ["", "400 MissingSandboxId"],
  ])("%s means %s", (host, meaning) => {
    expect(found(host)).toBe(meaning);
  });

  it("of the activator's Service defers to the headers", () => {
    const host = "sandbox-router-svc.agent-sandbox-system.svc.cluster.local:8080";
    expect(found(host, { "X-Sandbox-ID": "nova", "X-Sandbox-Namespace": "lab" })).toBe("lab/nova:8888");
  });

  it.each([
    [{ "X-Sandbox-ID": "nova", "X-Sandbox-Namespace": "lab", "X-Sandbox-Port": "3000" }, "lab/nova:3000 by host"],
    [{ "X-Sandbox-ID": "other" }, "400 ConflictingHeaders"],
    [{ "X-Sandbox-Namespace": "other" }, "400 ConflictingHeaders"],
    [{ "X-Sandbox-Port": "22" }, "400 ConflictingHeaders"],
  ])("that names a sandbox takes no other answer from headers: %o", (headers, meaning) => {
    expect(found("nova.lab.sandbox.localhost", headers)).toBe(meaning);
  });

  it.each([
    [{ "X-Sandbox-ID": "task" }, "lab/warm-1:5000 by host"],
    [{ "X-Sandbox-ID": "warm-1" }, "lab/warm-1:5000 by host"],
    [{ "X-Sandbox-ID": "nova" }, "400 ConflictingHeaders"],
  ])("of a claim agrees with its name and with its sandbox's: %o", (headers, meaning) => {
    expect(found("task.lab.sandbox.localhost", headers)).toBe(meaning);
  });

  it("of a claim has no in-cluster form, where names are those of Services", () => {
    expect(found("task.lab.svc")).toBe("lab/task: by host");
    expect(found("task.lab.svc", { "X-Sandbox-ID": "nova" })).toBe("400 ConflictingHeaders");
  });

  it("that names a sandbox keeps /healthz for it", () => {
    const names = (host: string) => hostNamesSandbox(head(host), options);
    expect(["nova.lab.sandbox.localhost", "nova.lab.svc", "nothing.lab.svc"].map(names)).toEqual([true, true, true]);
    expect(["10.0.0.7:8080", "sandbox-router-svc.lab.svc", ""].map(names)).toEqual([false, false, false]);
  });
});

describe("routing headers", () => {
  const id = { "X-Sandbox-ID": "nova" };
  it.each<[Record<string, string>, string]>([
    [id, "default/nova:8888"],
    [{ ...id, "X-Sandbox-Namespace": "", "X-Sandbox-Port": " " }, "default/nova:8888"],
    [{ ...id, "X-Sandbox-Namespace": "lab", "X-Sandbox-Port": "+80" }, "lab/nova:80"],
    [{ "X-Sandbox-ID": "" }, "400 MissingSandboxId"],
    [{ "X-Sandbox-ID": "Nova" }, "400 BadSandboxId"],
    [{ "X-Sandbox-ID": "a".repeat(64) }, "400 BadSandboxId"],
    [{ ...id, "X-Sandbox-Namespace": "-" }, "400 BadNamespace"],
    [{ ...id, "X-Sandbox-Port": "18_900" }, "400 BadPort"],
    [{ ...id, "X-Sandbox-Port": "0" }, "400 BadPort"],
    [{ ...id, "X-Sandbox-Pod-IP": "10.1.2.3" }, "default/nova:8888"],
    [{ ...id, "X-Sandbox-Pod-IP": "localhost" }, "400 BadPodIpFormat"],
    [{ ...id, "X-Sandbox-Pod-IP": "[::1]" }, "400 BadPodIpFormat"],
    [{ ...id, "X-Sandbox-Pod-IP": "fe80::1%eth0" }, "400 BadPodIpFormat"],
    [{ ...id, "X-Sandbox-Pod-IP": "127.0.0.1" }, "400 BadPodIp"],
    [{ ...id, "X-Sandbox-Pod-IP": "::ffff:169.254.169.254" }, "400 BadPodIp"],
    [{ ...id, "X-Sandbox-Pod-IP": "64:ff9b::7f00:1" }, "400 BadPodIp"],
    [{ ...id, "X-Sandbox-Pod-IP": "2002:7f00:1::" }, "400 BadPodIp"],
    [{ ...id, "X-Sandbox-Pod-IP": "0.1.2.3" }, "400 BadPodIp"],
    [{ ...id, "X-Sandbox-Pod-IP": "ff02::1" }, "400 BadPodIp"],
    [{ ...id, "X-Sandbox-Port": "x", "X-Sandbox-Namespace": "-" }, "400 BadNamespace"],
  ])("%o mean %s", (headers, meaning) => {
    expect(found("any.example", headers)).toBe(meaning);
  });

  it("with two values are rejected, and with one value twice are not", () => {
    const twice = (second: string): readonly HeaderPair[] => [
      ["X-Sandbox-ID", "nova"],
      ["x-sandbox-id", second],
    ];
    expect(found("any", twice("other"))).toBe("400 BadSandboxId");
    expect(found("any", twice("nova"))).toBe("default/nova:8888");
  });

  it.each([
    ["60", 60_000],
    ["2.5", 2_500],
    ["1e-05", 0.01],
    ["610.0", 610_000],
    ["-1", undefined],
    ["inf", undefined],
    ["soon", undefined],
  ])("X-Sandbox-Timeout: %s is %d ms (W4)", (text, timeoutMs) => {
    expect(find(head("any", { ...id, "X-Sandbox-Timeout": text }), options, known).timeoutMs).toBe(timeoutMs);
  });
});
