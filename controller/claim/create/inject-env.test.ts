import { describe, expect, it } from "vitest";
import type { PodSpec } from "../../../api/kinds/pod.ts";
import type { ClaimEnvVar } from "../../../api/kinds/sandbox-claim.ts";
import type { InjectionPolicy } from "../../../api/kinds/sandbox-template.ts";
import { ClaimProblem } from "../claim-problem.ts";
import { injectEnv } from "./inject-env.ts";

const ownKey = { name: "KEY", value: "own" };
const pod: PodSpec = {
  initContainers: [{ name: "prepare" }],
  containers: [{ name: "main", env: [ownKey] }, { name: "side" }],
};
const sourced = { envFrom: [{ configMapRef: { name: "settings" } }] };

function inject(policy: InjectionPolicy | "", env: readonly ClaimEnvVar[], into: PodSpec = pod): PodSpec {
  return injectEnv(into, { envVarsInjectionPolicy: policy as InjectionPolicy }, { env });
}

/** Which variables each container has. */
const variables = ({ initContainers = [], containers }: PodSpec) =>
  Object.fromEntries([...initContainers, ...containers].map(({ name, env = [] }) => [name, env]));

function failure(run: () => unknown): string {
  try {
    run();
    return "none";
  } catch (error) {
    return error instanceof ClaimProblem ? error.reason : String(error);
  }
}

describe("variables that a claim brings", () => {
  it.each(["Disallowed", ""] as const)("are rejected under the policy %o", (policy) => {
    expect(failure(() => inject(policy, [{ name: "NEW", value: "1" }]))).toBe("EnvVarsInjectionRejected");
  });

  it("come after those of the first container", () => {
    const injected = inject("Allowed", [{ name: "NEW", value: "1" }]);
    expect(variables(injected)).toEqual({ prepare: [], main: [ownKey, { name: "NEW", value: "1" }], side: [] });
  });

  it("may not override under Allowed, and that is tried again", () => {
    const text = failure(() => inject("Allowed", [{ name: "KEY", value: "1" }]));
    expect(text).toContain("environment variable override is not allowed");
  });

  it("take the place of the template's under Overrides, its source too", () => {
    const secret = { name: "KEY", valueFrom: { secretKeyRef: { name: "s", key: "k" } } };
    const into = { containers: [{ name: "main", env: [secret, { name: "LAST", value: "0" }] }] };
    expect(variables(inject("Overrides", [{ name: "KEY", value: "1" }], into))["main"]).toEqual([
      { name: "KEY", value: "1" },
      { name: "LAST", value: "0" },
    ]);
  });

  it.each(["prepare", "side"])("go to the container %s alone when they name it", (containerName) => {
    const injected = inject("Allowed", [{ name: "NEW", value: "1", containerName }]);
    expect(variables(injected)).toEqual({
      ...variables(pod),
      [containerName]: [{ name: "NEW", value: "1" }],
    });
  });

  it("come in the order: first for a named container, then for the first one", () => {
    const injected = inject("Allowed", [
      { name: "A", value: "1" },
      { name: "B", value: "2", containerName: "main" },
    ]);
    expect(variables(injected)["main"]?.map(({ name }) => name)).toEqual(["KEY", "B", "A"]);
  });

  it("fail for a container that is not there", () => {
    const text = failure(() => inject("Allowed", [{ name: "A", value: "1", containerName: "gone" }]));
    expect(text).toContain("container gone");
  });

  it.each([
    { case: "the first container", into: { containers: [{ name: "main", ...sourced }] } },
    {
      case: "a named init container",
      containerName: "prepare",
      into: { initContainers: [{ name: "prepare", ...sourced }], containers: [{ name: "main" }] },
    },
  ])("are rejected under Allowed where $case takes others from a source", ({ into, containerName }) => {
    const variable = { name: "A", value: "1", ...(containerName && { containerName }) };
    expect(failure(() => inject("Allowed", [variable], into))).toBe("EnvVarsInjectionRejected");
    expect(failure(() => inject("Overrides", [variable], into))).toBe("none");
  });

  it("are accepted where only another container does", () => {
    const into = { containers: [{ name: "main" }, { name: "side", ...sourced }] };
    expect(failure(() => inject("Allowed", [{ name: "A", value: "1" }], into))).toBe("none");
  });

  it("that are none leave the Pod as it is", () => {
    const into = { containers: [{ name: "main", ...sourced }] };
    expect(inject("Disallowed", [], into)).toBe(into);
  });
});
