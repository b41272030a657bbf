import { vi } from "vitest";
import { eventType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import {
  type SandboxTemplate,
  type SandboxTemplateSpec,
  sandboxTemplateType,
} from "../../../api/kinds/sandbox-template.ts";
import {
  type SandboxWarmPool,
  type SandboxWarmPoolSpec,
  type SandboxWarmPoolStatus,
  sandboxWarmPoolType,
} from "../../../api/kinds/sandbox-warm-pool.ts";
import { warmPoolSelector } from "../../../api/rules/names.ts";
import { waiting } from "../waiting.ts";
import { openSandboxLab, type SandboxLab } from "./sandbox-lab.ts";

const namespace = "default";

/** An API server in memory, the whole controller with its extensions, and a fake kubelet. */
export interface ExtensionsLab extends SandboxLab {
  /** Creates a template of one container. Default name: `tpl`. */
  createTemplate(spec?: Partial<SandboxTemplateSpec>, name?: string): Promise<Stored<SandboxTemplate>>;
  changeTemplate(spec: object, name?: string): Promise<void>;
  /** Creates a pool of the template `tpl`. Default name: `warm`. */
  createPool(spec?: Partial<SandboxWarmPoolSpec>, name?: string): Promise<Stored<SandboxWarmPool>>;
  changePool(spec: object, name?: string): Promise<void>;
  /** The sandboxes with the pool's label that are not being deleted, in no order. */
  members(pool?: string): Promise<readonly Stored<Sandbox>[]>;
  /** Waits until the status of a pool is like this. */
  untilPool(like: SandboxWarmPoolStatus, name?: string): Promise<Stored<SandboxWarmPool>>;
  /** Reasons of the events about pools, in no order. */
  poolEvents(): Promise<readonly string[]>;
}

export async function openExtensionsLab(
  options: { readonly flags?: readonly string[]; readonly kubelet?: boolean } = {},
): Promise<ExtensionsLab> {
  const lab = await openSandboxLab({ ...options, flags: ["--extensions", ...(options.flags ?? [])] });
  const { client } = lab;
  const merge = (spec: object) => ({ type: "merge", body: { spec } }) as const;
  return {
    ...lab,
    createTemplate: (spec = {}, name = "tpl") =>
      client.create(sandboxTemplateType, {
        metadata: { namespace, name },
        spec: { podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } }, ...spec },
      }),
    async changeTemplate(spec, name = "tpl") {
      await client.patch(sandboxTemplateType, { namespace, name }, merge(spec));
    },
    createPool: (spec = {}, name = "warm") =>
      client.create(sandboxWarmPoolType, {
        metadata: { namespace, name },
        spec: { sandboxTemplateRef: { name: "tpl" }, ...spec },
      }),
    async changePool(spec, name = "warm") {
      await client.patch(sandboxWarmPoolType, { namespace, name }, merge(spec));
    },
    async members(pool = "warm") {
      const { items } = await client.list(sandboxType, { namespace, labelSelector: warmPoolSelector(pool) });
      return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    },
    untilPool: (like, name = "warm") =>
      vi.waitFor(async () => {
        const pool = await client.get(sandboxWarmPoolType, { namespace, name });
        const { status = {} } = pool;
        const differs = Object.entries(like).some(
          ([field, value]) => status[field as keyof SandboxWarmPoolStatus] !== value,
        );
        if (differs) throw new Error(`the status is ${JSON.stringify(status)}, not like ${JSON.stringify(like)}`);
        return pool;
      }, waiting),
    async poolEvents() {
      const { items } = await client.list(eventType, { namespace });
      return items.filter(({ regarding }) => regarding?.kind === "SandboxWarmPool").map(({ reason }) => reason ?? "");
    },
  };
}
