import { expect, it } from "vitest";
import { sandboxTemplateType } from "../../api/kinds/sandbox-template.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type FrontLab, openFrontLab, podWith } from "../../test/support/labs/front-lab.ts";
import { passingTime } from "../../test/support/passing-time.ts";

/** An API server with a webhook that undoes each write to this kind, and leaves a mark: so each write is a new version. */
function undoing(kind: string, client: KubeClient) {
  const state = { undoes: false, count: 0 };
  const mark = () => {
    state.count += 1;
    return { type: "merge", body: { metadata: { annotations: { mark: String(state.count) } } } } as const;
  };
  const isUndone = (one: string) => state.undoes && one === kind;
  const undone: KubeClient = {
    ...client,
    patch: (type, name, patch, options, signal) =>
      client.patch(type, name, isUndone(type.kind) ? mark() : patch, options, signal),
    replace: (type, object, options, signal) => {
      const { namespace, name = "" } = object.metadata;
      if (!isUndone(type.kind)) return client.replace(type, object, options, signal);
      return client.patch(type, { namespace, name }, mark(), {}, signal);
    },
  };
  return { client: undone, state };
}

const template = { namespace: "default", name: "python" };

/** Each makes the controller write to that kind. */
const changes: Readonly<Record<string, (lab: FrontLab) => Promise<unknown>>> = {
  Pod: (lab) => lab.change({ podTemplate: { ...podWith(5432), metadata: { labels: { team: "blue" } } } }),
  EndpointSlice: async (lab) => lab.activators.are({ address: "10.0.0.2" }),
  NetworkPolicy: (lab) =>
    lab.client.patch(sandboxTemplateType, template, {
      type: "merge",
      body: { spec: { networkPolicy: { egress: [{}] } } },
    }),
  SandboxTemplate: (lab) =>
    lab.client.patch(sandboxTemplateType, template, { type: "merge", body: { metadata: { labels: null } } }),
};

it.each(Object.entries(changes))(
  "a webhook that undoes the write to %s causes a few writes a minute",
  async (kind, change) => {
    await using lab = await openFrontLab();
    const { client, state } = undoing(kind, lab.client);
    const { clock, until, pass } = passingTime();
    await using _controller = await lab.startController({ client, clock, flags: ["--extensions"] });
    const sandbox = await lab.create();
    await lab.client.create(sandboxTemplateType, {
      metadata: template,
      spec: { podTemplate: podWith(80), networkPolicy: { egress: [] } },
    });
    await until(async () => ((await lab.slice(sandbox))?.endpoints ?? []).length > 0, 60_000);
    await until(async () => {
      const { metadata } = await lab.client.get(sandboxTemplateType, template);
      return Object.keys(metadata.labels ?? {}).length > 0;
    }, 60_000);
    await pass(5);
    state.undoes = true;
    await change(lab);
    await until(async () => state.count > 1, 60_000);
    await pass(60);
    expect(state.count).toBeLessThan(15);
  },
);
