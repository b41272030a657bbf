import { expect, inject, it } from "vitest";
import { soakHibernation } from "../../soak/hibernation/soak-hibernation.ts";
import { clusterLayout } from "../e2e/support/components.ts";
import { connectToCluster } from "../support/cluster-under-test.ts";

const limitMs = 600_000;

it(
  "four sandboxes sleep and wake twenty times, and no memory, file, thread or timer is an older one",
  async () => {
    await using connected = await connectToCluster();
    const cluster = { ...connected, layout: clusterLayout(), programs: inject("programs") };
    const said: string[] = [];
    const say = (text: string) => void said.push(text);
    const wrong = await soakHibernation({ cluster, cycles: 20, seed: 1, kills: false, say });
    expect(wrong, said.join("\n")).toEqual([]);
  },
  limitMs,
);
