import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type BareApiServer, startBareApiServer } from "./support/bare-api-server.ts";

let api: BareApiServer;
beforeEach(async () => {
  api = await startBareApiServer(inject("tools"));
});
afterEach(() => api[Symbol.asyncDispose]());

const namespace = "agent-sandbox-system";

/** Upgrades to these values and the defaults of all others. Returns how the Deployment changes its Pods. */
async function strategyAfter(...values: readonly string[]): Promise<string> {
  const set = values.map((value) => `--set ${value}`).join(" ");
  const upgrade = "helm upgrade rouse charts/rouse --install --reset-values --create-namespace";
  await api.type(`${upgrade} --namespace ${namespace} ${set}`);
  const path = "{.spec.strategy.type}";
  return api.type(`kubectl -n ${namespace} get deployment agent-sandbox-controller -o jsonpath=${path}`);
}

describe("an upgrade of the controller", () => {
  it("ends the old one first if one of both elects no leader", async () => {
    const alone = ["controller.leaderElect=false", "replicaCount=1"];
    const byFlag = ["controller.extraArgs[0]=--leader-elect=false", "replicaCount=1"];
    expect(await strategyAfter()).toBe("RollingUpdate");
    expect(await strategyAfter(...alone)).toBe("Recreate");
    expect(await strategyAfter()).toBe("Recreate");
    expect(await strategyAfter()).toBe("RollingUpdate");
    expect(await strategyAfter(...byFlag)).toBe("Recreate");
    expect(await strategyAfter()).toBe("Recreate");
  });

  it("ends the old one first if the new one has its Lease in another namespace", async () => {
    expect(await strategyAfter()).toBe("RollingUpdate");
    expect(await strategyAfter("controller.leaderElectionNamespace=default")).toBe("Recreate");
    const same = "controller.extraArgs[0]=--leader-election-namespace=default";
    expect(await strategyAfter(same)).toBe("RollingUpdate");
    expect(await strategyAfter(`controller.leaderElectionNamespace=${namespace}`)).toBe("Recreate");
    expect(await strategyAfter()).toBe("RollingUpdate");
  });
});
