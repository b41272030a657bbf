import { podType } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Change, Informer } from "../../../kube/informer/informer.ts";
import { type InformerOptions, startInformer } from "../../../kube/informer/start-informer.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";

export interface Followed extends AsyncDisposable {
  readonly informer: Informer<KubeObject>;
  /** `+name@version`, `~name@version`, `-name@version`, in the order of the changes. */
  readonly reported: readonly string[];
}

/** An informer of Pods, with a record of the changes that it reports. */
export function follow(client: KubeClient, options: Partial<InformerOptions<KubeObject, never>> = {}): Followed {
  const defaults = { client, type: podType, indexes: {}, clock: systemClock, log: silentLogger, frozen: true };
  const informer = startInformer<KubeObject>({ ...defaults, ...options });
  const reported: string[] = [];
  informer.onChange((change) => reported.push(inShort(change)));
  return { informer, reported, [Symbol.asyncDispose]: () => informer[Symbol.asyncDispose]() };
}

function inShort({ previous, current }: Change<KubeObject>): string {
  const object = current ?? previous;
  const sign = previous && current ? "~" : current ? "+" : "-";
  return `${sign}${object?.metadata.name}@${object?.metadata.resourceVersion}`;
}

/** The content of its store, as `name@version`. */
export const shownIn = ({ informer }: Followed) =>
  informer.store.list().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
