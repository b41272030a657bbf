import { Registry } from "prom-client";
import { describe, expect, it, vi } from "vitest";
import { tcpFrontOf } from "../../api/between-programs/tcp-front.ts";
import { eventType, namespaceType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { type FrontLab, openFrontLab, podWith, portsOf } from "../../test/support/labs/front-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

const withEvents = "--disable-sandbox-events=false";
const conditionOf = async ({ client }: FrontLab, { metadata }: Stored<Sandbox>) =>
  findCondition((await client.get(sandboxType, metadata)).status?.conditions, "ServicePortsAllocated");
const reasonsIn = async ({ client }: FrontLab) => (await client.list(eventType)).items.map(({ reason }) => reason);

describe("a sandbox that declares more ports than one may have", () => {
  it("is reached by the first of them, and its status, an event and a metric report the others", async () => {
    await using lab = await openFrontLab();
    const registry = new Registry();
    await using _controller = await lab.startController({ registry, flags: [withEvents] });
    const declared = Array.from({ length: 3_600 }, (_, at) => 1 + at);
    const sandbox = await lab.create({ operatingMode: "Suspended", podTemplate: podWith(...declared) });
    const slice = await lab.untilLeadingTo(sandbox, "10.0.0.1");
    expect(tcpFrontOf(slice)?.ports.map(({ containerPort }) => containerPort)).toEqual(declared.slice(0, 32));
    await vi.waitFor(async () => {
      expect(await conditionOf(lab, sandbox)).toMatchObject({
        status: "False",
        reason: "SandboxPortLimitExceeded",
        message: expect.stringContaining("3568 of its ports cannot be reached"),
      });
      expect(await reasonsIn(lab)).toContain("TcpFrontPortLimitExceeded");
    }, waiting);
    expect(await registry.metrics()).toContain("rouse_tcp_front_refused_ports 3568\n");
  });

  it("says no more of it once it declares as many as it may have", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController({ flags: ["--tcp-front-ports-per-sandbox=2"] });
    const sandbox = await lab.create({ podTemplate: podWith(1, 2, 3) });
    await vi.waitFor(async () => expect(await conditionOf(lab, sandbox)).toBeDefined(), waiting);
    await lab.change({ podTemplate: podWith(1, 2) });
    await vi.waitFor(async () => expect(await conditionOf(lab, sandbox)).toBeUndefined(), waiting);
  });
});

describe("a namespace that has all the ports that one may have", () => {
  it("gets no more for ten minutes after its sandboxes are gone, and others get theirs", async () => {
    await using lab = await openFrontLab();
    await using _controller = await lab.startController({ flags: [withEvents, "--tcp-front-ports-per-namespace=2"] });
    const first = await lab.create({ podTemplate: podWith(1, 2) }, "first");
    await lab.untilLeadingTo(first, "10.0.0.1");
    await lab.remove("first");
    const second = await lab.create({}, "second");
    await vi.waitFor(async () => {
      expect(await conditionOf(lab, second)).toMatchObject({ reason: "NamespacePortLimitExceeded" });
      expect(await reasonsIn(lab)).toContain("TcpFrontPortLimitExceeded");
    }, waiting);
    expect(await lab.slice(second)).toBeUndefined();
    await lab.client.create(namespaceType, { metadata: { name: "other" } });
    const spec = { service: true, autoResume: {}, podTemplate: podWith(1, 2) };
    await lab.client.create(sandboxType, { metadata: { namespace: "other", name: "nova" }, spec });
    await vi.waitFor(async () => {
      const [slice] = (await lab.slices()).filter(({ metadata }) => metadata.namespace === "other");
      expect(slice && portsOf(slice)).toHaveLength(2);
    }, waiting);
  });
});
