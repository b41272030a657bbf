import { leaseType } from "../../api/kinds/core.ts";
import { keyOf } from "../../api/kinds/meta.ts";
import { leaderLeaseName } from "../../api/rules/names.ts";
import { readTime } from "../../api/rules/timestamps.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { listEverything } from "../../kube/client/list-everything.ts";
import type { Clock } from "../../lib/time/clock.ts";

// The clock of another machine wrote renewTime.
const clocksMayDifferMs = 60_000;

/**
 * Notes about leading controllers, in any namespace, and their effect on owner references.
 *
 * @throws the errors of `KubeClient.list`, except a rejection by the API server, which becomes a note.
 */
export async function whoLeads(client: KubeClient, clock: Clock, signal: AbortSignal): Promise<readonly string[]> {
  const selection = { fieldSelector: `metadata.name=${leaderLeaseName}` };
  try {
    const { items } = await listEverything(client, leaseType, selection, signal);
    return items.flatMap(({ metadata, spec }) => {
      const { holderIdentity, renewTime, leaseDurationSeconds = 0 } = spec ?? {};
      const renewed = readTime(renewTime);
      if (!holderIdentity || renewed === undefined) return [];
      const hasEnded = clock.now().getTime() - renewed.getTime() > leaseDurationSeconds * 1_000 + clocksMayDifferMs;
      return hasEnded ? [] : [`${holderIdentity} leads (Lease ${keyOf({ metadata })}) and ${again}`];
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [`cannot determine whether a controller leads (${error.message}). A leading controller ${again}`];
  }
}

const again = "keeps writing owner references in v1beta1: run this phase again once the older release is installed";
