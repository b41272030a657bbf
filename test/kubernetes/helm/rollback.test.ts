import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type BareApiServer, establishDefinitions, startBareApiServer } from "./support/bare-api-server.ts";
import {
  allKept,
  byHelm,
  convertByNothing,
  definitions,
  filledIn,
  fullyKept,
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

const staying = "### Staying with Rouse after all";
const storeOlder = "### 2. To v0.4: store all objects in v1alpha1";

/** The storage version of sandboxes. */
const storedIn = () =>
  api.type("kubectl get crd sandboxes.agents.x-k8s.io -o 'jsonpath={.spec.versions[?(@.storage==true)].name}'");

describe.each(["v0.4.6", "v0.5.6"] as const)("on the page's way from the chart of %s and back", (release) => {
  it("no step deletes a definition or a sandbox, and the way can be taken twice", async () => {
    const uid = await installFormer(api, release);
    for (const _round of [1, 2]) {
      await upgradeToOurs(api, release);
      expect(await keptDefinitions(api)).toEqual(allKept);
      for (const step of stepsBack(release)) {
        await api.type(filledIn(step, release));
        expect({ step, kept: await keptDefinitions(api) }).toEqual({ step, kept: allKept });
        expect({ step, kept: await fullyKept(api) }).toEqual({ step, kept: definitions.length });
        if (/^helm upgrade|^kubectl annotate/.test(step)) await convertByNothing(api);
      }
      expect(await uidOf(api)).toBe(uid);
      expect(await api.type("helm history agent-sandbox --max 1 -o json")).toContain("Rollback to 1");
    }
  });
});

describe("somebody who turns back to Rouse", () => {
  it("has our definitions again by the steps of the page, even after those of v0.4.6 were installed", async () => {
    const release = "v0.4.6";
    const uid = await installFormer(api, release);
    await upgradeToOurs(api, release);
    const stay = commandsUnder(migrating, staying).filter(byHelm);
    expect(stay.length).toBe(3);
    for (const step of [...stepsBack(release).slice(0, -1), ...stay]) {
      await api.type(filledIn(step, release));
      if (/^helm upgrade|^kubectl (annotate|replace)/.test(step)) await convertByNothing(api);
      expect({ step, kept: await keptDefinitions(api) }).toEqual({ step, kept: allKept });
    }
    expect(await uidOf(api)).toBe(uid);
    expect(await storedIn()).toBe("v1beta1");
  });

  it("has them again by the manifest of a release, which needs --force-conflicts as on the page", async () => {
    const install = "kubectl apply --server-side -k k8s";
    await api.type(install);
    await establishDefinitions(api);
    const [revert = ""] = commandsUnder(migrating, storeOlder);
    await api.type(revert);
    expect(await storedIn()).toBe("v1alpha1");
    await expect(api.type(install)).rejects.toThrow(/conflict with "rouse-migrate".*\.spec\.versions/s);
    const byManifest = commandsUnder(migrating, staying).filter((command) => command.includes("install.yaml"));
    expect(byManifest.length).toBe(1);
    await api.type((byManifest[0] ?? "").replace("-f install.yaml", "-k k8s"));
    expect(await storedIn()).toBe("v1beta1");
    await api.type(install);
    expect(await api.type("npm run --silent migrate -- --phase=migrate")).toContain(
      "all objects are stored in v1beta1",
    );
  });
});

describe("an upgrade that disables v1alpha1", () => {
  it("is rejected while a definition stores it, also if status.storedVersions does not say so", async () => {
    await api.type("kubectl apply --server-side -k k8s");
    await establishDefinitions(api);
    const [revert = "", recordOlder = ""] = commandsUnder(migrating, storeOlder);
    const recordNewer = () => api.type(recordOlder.replace("v1alpha1", "v1beta1"));
    const upgrade = () =>
      api.type(
        `helm install agent-sandbox charts/rouse --namespace agent-sandbox-system --take-ownership ${ourImages} --set v1alpha1.enabled=false --dry-run=server`,
      );
    await api.type(revert);
    await recordNewer();
    await expect(upgrade()).rejects.toThrow("may still be stored in v1alpha1. Nothing was changed");
    await api.type("npm run --silent migrate -- --phase=migrate");
    await recordNewer();
    expect(await upgrade()).toContain("--enable-webhook=false");
  });
});
