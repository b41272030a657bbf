import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type BareApiServer, startBareApiServer } from "./support/bare-api-server.ts";
import {
  allKept,
  convertByNothing,
  definitions,
  filledIn,
  fullyKept,
  installFormer,
  keptDefinitions,
  migrating,
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
    const stay = commandsUnder(migrating, "### Staying with Rouse after all");
    expect(stay.length).toBe(3);
    for (const step of [...stepsBack(release).slice(0, -1), ...stay]) {
      await api.type(filledIn(step, release));
      if (/^helm upgrade|^kubectl (annotate|replace)/.test(step)) await convertByNothing(api);
      expect({ step, kept: await keptDefinitions(api) }).toEqual({ step, kept: allKept });
    }
    expect(await uidOf(api)).toBe(uid);
    const stored = "kubectl get crd sandboxes.agents.x-k8s.io -o 'jsonpath={.spec.versions[?(@.storage==true)].name}'";
    expect(await api.type(stored)).toBe("v1beta1");
  });
});
