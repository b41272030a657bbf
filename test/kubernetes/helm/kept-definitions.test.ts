import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type BareApiServer, startBareApiServer } from "./support/bare-api-server.ts";
import {
  allKept,
  chartOf,
  convertByNothing,
  filledIn,
  installFormer,
  keptDefinitions,
  migrating,
  ourImages,
  stepsBack,
  uidOf,
  upgradeToOurs,
} from "./support/installations.ts";
import { commandsUnder } from "./support/page-commands.ts";

let api: BareApiServer;
beforeEach(async () => {
  api = await startBareApiServer(inject("tools"));
});
afterEach(() => api[Symbol.asyncDispose]());

describe("a first install of the former chart that failed because Helm had created its namespace", () => {
  it("is upgraded without deleting the namespace, and so is the next upgrade", async () => {
    const inNamespace = "--namespace agent-sandbox-system";
    const values = "--set image.tag=v0.4.6,controller.extensions=true";
    const failed = `helm install agent-sandbox ${chartOf("v0.4.6")} ${inNamespace} --create-namespace ${values}`;
    await expect(api.type(failed)).rejects.toThrow(/already exists/);
    const [upgrade = ""] = commandsUnder(migrating, "## By Helm");
    await api.type(filledIn(upgrade, "v0.4.6").replace("--namespace default", inNamespace));
    await api.type(`helm upgrade agent-sandbox charts/rouse ${inNamespace} --reset-then-reuse-values`);
    const phase = "kubectl get namespace agent-sandbox-system -o jsonpath={.status.phase}";
    expect(await api.type(phase)).toBe("Active");
  });
});

describe("a definition from which somebody took the annotation", () => {
  it("is not reached by the page's last step, which puts the annotation back first", async () => {
    const uid = await installFormer(api, "v0.5.6");
    await upgradeToOurs(api, "v0.5.6");
    await api.type(`kubectl replace -f ${chartOf("v0.5.6")}/crds`);
    await convertByNothing(api);
    expect(await keptDefinitions(api)).not.toEqual(allKept);
    const [rollback = ""] = stepsBack("v0.5.6").slice(-1);
    await api.type(filledIn(rollback, "v0.5.6"));
    expect(await keptDefinitions(api)).toEqual(allKept);
    expect(await uidOf(api)).toBe(uid);
  });
});

describe("our chart", () => {
  it.each([
    ["a rollback that skips all steps", "helm rollback agent-sandbox 1"],
    ["an uninstall", "helm uninstall agent-sandbox"],
    [
      "an upgrade without its definitions, after our plain ones were replaced",
      `kubectl replace -f crds && helm upgrade agent-sandbox charts/rouse --reset-then-reuse-values --set crds.install=false ${ourImages}`,
    ],
  ])("keeps the definitions and the sandboxes on %s", async (_title, command) => {
    const uid = await installFormer(api, "v0.5.6");
    await upgradeToOurs(api, "v0.5.6");
    await api.type(command);
    expect(await keptDefinitions(api)).toEqual(allKept);
    expect(await uidOf(api)).toBe(uid);
  });
});
