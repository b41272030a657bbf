import type { KubeObject } from "../../../api/kinds/meta.ts";
import { ChangeFeed } from "../../../kube/informer/change-feed.ts";
import { IndexedStore, type Indexes } from "../../../kube/informer/indexed-store.ts";
import type { Informer } from "../../../kube/informer/informer.ts";

/** An informer whose watch events come from the test. */
export function feedInformer<T extends KubeObject, I extends string = never>(indexes: Indexes<T, I>) {
  const store = new IndexedStore<T, I>(indexes);
  const feed = new ChangeFeed<T, I>(store);
  const informer: Informer<T, I> = {
    kind: "Fed",
    store,
    onChange: (listener) => feed.onChange(listener),
    synced: Promise.resolve(),
    silentMs: () => 0,
    hasSeen: () => true,
    trouble: () => undefined,
    failed: new Promise(() => {}),
    async [Symbol.asyncDispose]() {},
  };
  return { informer, feed };
}
