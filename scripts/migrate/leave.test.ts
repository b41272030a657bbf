import { describe, expect, it, vi } from "vitest";
import {
  endpointSliceType,
  managedByLabel,
  serviceNameLabel,
  tcpFrontManager,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import { helmPolicy, keptByInstallers } from "../../api/crd/kept-by-installers.ts";
import { customResourceDefinitionType, serviceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { NotServed } from "../../kube/client/errors.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { fill, listDefinitions, run, runBy } from "../../test/support/builders/migration.ts";
import { recordCalls } from "../../test/support/fakes/recording-client.ts";
import { openFrontLab } from "../../test/support/labs/front-lab.ts";
import { openWebhookApi } from "../../test/support/labs/webhook-world.ts";
import { waiting } from "../../test/support/waiting.ts";

const ready =
  "the definitions stay, and no name of a sandbox leads to activators: you can uninstall Rouse, or roll back";
const namespace = "default";

const policies = async (client: KubeClient) =>
  (await listDefinitions(client)).map(({ metadata }) => metadata.annotations?.[helmPolicy.key]);

const allKeys = Object.keys(keptByInstallers).join(", ");
const syncOptions = "argocd.argoproj.io/sync-options";

async function annotate(client: KubeClient, annotations: Readonly<Record<string, string | null>>): Promise<void> {
  for (const { metadata } of await listDefinitions(client)) {
    const body = { metadata: { annotations } };
    await client.patch(customResourceDefinitionType, { name: metadata.name }, { type: "merge", body });
  }
}

const annotationsOfAll = async (client: KubeClient) =>
  (await listDefinitions(client)).map(({ metadata }) => metadata.annotations);

/** What `kubectl replace` does with a manifest that lacks the annotation. */
async function unprotect(client: KubeClient): Promise<void> {
  for (const { metadata } of await listDefinitions(client)) {
    const body = { metadata: { annotations: null } };
    await client.patch(customResourceDefinitionType, { name: metadata.name }, { type: "merge", body });
  }
}

/** The Service and the EndpointSlice of a sandbox whose name leads to an activator. */
async function leadToActivators(client: KubeClient, name: string): Promise<void> {
  const { uid } = (await client.get(sandboxType, { namespace, name })).metadata;
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name, uid, controller: true };
  const ports = [{ name: "tcp-5432", port: 5432 }];
  await client.create(serviceType, {
    metadata: { namespace, name, ownerReferences: [owner] },
    spec: { ports },
  });
  await client.create(endpointSliceType, {
    metadata: {
      namespace,
      name: tcpFrontSliceName(uid),
      labels: { [managedByLabel]: tcpFrontManager, [serviceNameLabel]: name },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.1.0.9"] }],
    ports: [],
  });
}

async function leadToThePod(client: KubeClient, name: string): Promise<void> {
  await client.delete(serviceType, { namespace, name });
  const { items } = await client.list(endpointSliceType);
  for (const { metadata } of items) {
    await client.delete(endpointSliceType, { namespace, name: metadata.name });
  }
}

describe("the phase before Rouse goes", () => {
  it("is content with kept definitions and names that lead to Pods, and lists suspended sandboxes", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    const note = "note: sandbox default/nova is suspended, and no connection wakes it without Rouse (by a person)";
    const client = recordCalls(api.client);
    expect(await run(client, "--phase=leave")).toEqual({
      fine: true,
      said: [note, "0 rewritten, problems: 0", ready],
    });
    expect(client.calls.filter(({ verb }) => verb !== "get" && verb !== "list")).toEqual([]);
  });

  it.each(["leave", "revert"])("puts back what keeps the definitions, in phase %s", async (phase) => {
    await using api = await openWebhookApi();
    await unprotect(api.client);
    const { fine, said } = await run(api.client, `--phase=${phase}`);
    expect(fine).toBe(true);
    expect(said).toContain(`annotations ${allKeys} of sandboxes.agents.x-k8s.io rewritten`);
    expect(await annotationsOfAll(api.client)).toEqual(Array(4).fill(expect.objectContaining(keptByInstallers)));
  });

  it.each(Object.keys(keptByInstallers))("puts the annotation %s back if it alone is missing", async (key) => {
    await using api = await openWebhookApi();
    await annotate(api.client, { [key]: null });
    const { fine, said } = await run(api.client, "--phase=leave");
    expect(fine).toBe(true);
    expect(said).toContain(`annotation ${key} of sandboxes.agents.x-k8s.io rewritten`);
    expect(await annotationsOfAll(api.client)).toEqual(Array(4).fill(expect.objectContaining(keptByInstallers)));
  });

  it.each([
    ["ServerSideApply=true", "ServerSideApply=true,Prune=false,Delete=false"],
    ["Delete=false, ServerSideApply=true, Prune=true", "ServerSideApply=true,Prune=false,Delete=false"],
    ["Delete=false, ServerSideApply=true, Prune=false", "Delete=false, ServerSideApply=true, Prune=false"],
  ])("keeps other options of Argo CD, as in %j", async (before, after) => {
    await using api = await openWebhookApi();
    await annotate(api.client, { [syncOptions]: before });
    expect((await run(api.client, "--phase=leave")).fine).toBe(true);
    const options = (await annotationsOfAll(api.client)).map((annotations) => annotations?.[syncOptions]);
    expect(options).toEqual(Array(4).fill(after));
  });

  it("does not put it back in a dry run, and says what it would do", async () => {
    await using api = await openWebhookApi();
    await unprotect(api.client);
    const { said } = await run(api.client, "--phase=leave", "--dry-run");
    expect(said.at(-1)).toBe("dry run: nothing was written; 4 to be rewritten, problems: 0");
    expect(await policies(api.client)).toEqual(Array(4).fill(undefined));
  });

  it("fails if a definition loses the annotations again, because an installer would delete it", async () => {
    await using api = await openWebhookApi();
    await unprotect(api.client);
    const client: KubeClient = {
      ...api.client,
      async patch(type, name, patch, ...rest) {
        const patched = await api.client.patch(type, name, patch, ...rest);
        if (type.kind === customResourceDefinitionType.kind) await unprotect(api.client);
        return patched;
      },
    };
    const { fine, said } = await run(client, "--phase=leave");
    expect(fine).toBe(false);
    expect(said).toContain(
      `problem: sandboxes.agents.x-k8s.io has not kept the annotations ${allKeys}: an installer would delete it with all its objects`,
    );
  });

  it("waits until the controller has led all names to Pods", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    await leadToActivators(api.client, "nova");
    const clock = new FakeClock();
    const running = runBy(clock, api.client, "--phase=leave");
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    await leadToThePod(api.client, "nova");
    await clock.advance(2_000);
    expect((await running).said.at(-1)).toBe(ready);
  });

  it("puts back what keeps the definitions, also if it was taken off while the phase waited", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    await leadToActivators(api.client, "nova");
    const clock = new FakeClock();
    const running = runBy(clock, api.client, "--phase=leave");
    await vi.waitFor(() => expect(clock.pending).toBe(1), waiting);
    await unprotect(api.client);
    await leadToThePod(api.client, "nova");
    await clock.advance(2_000);
    expect((await running).said.at(-1)).toBe(ready);
    expect(await annotationsOfAll(api.client)).toEqual(Array(4).fill(expect.objectContaining(keptByInstallers)));
  });

  it("fails after a minute with every Service and EndpointSlice that still leads to activators", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    await leadToActivators(api.client, "nova");
    const clock = new FakeClock();
    const running = runBy(clock, api.client, "--phase=leave");
    const ended = running.then(() => true);
    const beganMs = clock.ticksMs();
    await vi.waitFor(async () => {
      await clock.advance(2_000);
      expect(await Promise.race([ended, Promise.resolve(false)])).toBe(true);
    }, waiting);
    expect(clock.ticksMs() - beganMs).toBeGreaterThanOrEqual(60_000);
    const { fine, said } = await running;
    expect(fine).toBe(false);
    expect(said).toContainEqual(expect.stringMatching(/^problem: Service default\/nova leads to activators: /));
    expect(said).toContainEqual(
      expect.stringMatching(/^problem: EndpointSlice default\/tcp-front-\S+ leads to activators: /),
    );
    expect(said).not.toContain(ready);
  });

  it("succeeds once a controller without activators leads, and not before", async () => {
    await using lab = await openFrontLab();
    const sandbox = await (async () => {
      await using _controller = await lab.startController();
      const created = await lab.create();
      await lab.untilLeadingTo(created, "10.0.0.1");
      return created;
    })();
    const { said } = await run(lab.client, "--phase=leave", "--dry-run");
    expect(said.filter((line) => line.startsWith("problem: "))).toHaveLength(2);
    await using _controller = await lab.startController({ isSwitchedOff: true });
    expect((await runBy(systemClock, lab.client, "--phase=leave")).said).toEqual(["0 rewritten, problems: 0", ready]);
    expect((await lab.service())?.spec?.clusterIP).toBe("None");
    expect(await lab.slice(sandbox)).toMatchObject({ endpoints: [] });
  });

  it("lists suspended sandboxes in v1alpha1 where only that version is served", async () => {
    await using api = await openWebhookApi();
    await fill(api.client);
    const client = recordCalls(api.client);
    client.failWith = ({ verb, kind }) => {
      const isCurrent =
        verb === "list" && kind === "Sandbox" && client.calls.filter((call) => call.kind === kind).length === 1;
      return isCurrent ? new NotServed("sandboxes in v1beta1") : undefined;
    };
    const { fine, said } = await run(client, "--phase=leave");
    expect(fine).toBe(true);
    expect(said[0]).toBe("note: sandbox default/nova is suspended, and no connection wakes it without Rouse");
  });

  it("fails where the definitions do not exist: nothing is left to keep", async () => {
    await using api = await openWebhookApi();
    for (const { metadata } of await listDefinitions(api.client)) {
      await api.client.delete(customResourceDefinitionType, { name: metadata.name });
    }
    const { fine, said } = await run(api.client, "--phase=leave");
    expect(fine).toBe(false);
    expect(said).toContain("problem: the four definitions do not exist");
  });
});
