import type { KubeObject } from "../../api/meta.ts";
import { ChangeFeed } from "../../kube/change-feed.ts";
import { IndexedStore, type Indexes } from "../../kube/indexed-store.ts";
import type { Informer } from "../../kube/informer.ts";
import { silentLogger } from "../../lib/log.ts";

/** An informer with the watch in the hands of the test. */
export function feedInformer<T extends KubeObject, I extends string = never>(indexes: Indexes<T, I>) {
  const store = new IndexedStore<T, I>(indexes);
  const feed = new ChangeFeed<T, I>(store, silentLogger);
  const informer: Informer<T, I> = {
    store,
    onChange: (listener) => feed.onChange(listener),
    synced: Promise.resolve(),
    silentMs: () => 0,
    failed: new Promise(() => {}),
    async [Symbol.asyncDispose]() {},
  };
  return { informer, feed };
}
