import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { onUnexpectedError } from "../../lib/guard/guard.ts";
import { nextTurn } from "../../lib/time/yielding.ts";
import { aStored } from "../../test/support/fakes/scripted-collection.ts";
import { ChangeFeed } from "./change-feed.ts";
import { IndexedStore } from "./indexed-store.ts";
import type { Change } from "./informer.ts";

function openFeed() {
  const store = new IndexedStore<KubeObject>({});
  const feed = new ChangeFeed(store);
  const changes: Change<KubeObject>[] = [];
  feed.onChange((change) => changes.push(change));
  return { store, feed, changes };
}

describe("a change feed", () => {
  it("reports an object replaced by another of its name as a deletion and a creation", () => {
    const { feed, changes } = openFeed();
    const old = aStored("a", "1", "old");
    const young = aStored("a", "2", "young");
    feed.set(old);
    feed.set(young);
    expect(changes.slice(1)).toEqual([
      { key: "team/a", previous: old, current: undefined },
      { key: "team/a", previous: undefined, current: young },
    ]);
  });

  it("keeps a successor when its predecessor's deletion comes late", () => {
    const { store, feed, changes } = openFeed();
    feed.set(aStored("a", "2", "young"));
    feed.unset(aStored("a", "1", "old"));
    expect(store.get("team/a")?.metadata.uid).toBe("young");
    expect(changes).toHaveLength(1);
  });

  it("reports no change for known objects", () => {
    const { feed, changes } = openFeed();
    const known = [aStored("a", "1"), aStored("b", "2")];
    void feed.replaceAll(known);
    void feed.replaceAll(known);
    feed.unset(aStored("c", "3"));
    expect(changes).toHaveLength(2);
  });

  it("takes a list in pieces: first the objects that are gone, then the others", async () => {
    const { store, feed, changes } = openFeed();
    void feed.replaceAll(["a", "b", "c"].map((name) => aStored(name, "1")));
    const rests: PromiseWithResolvers<void>[] = [];
    const rest = () => {
      const next = Promise.withResolvers<void>();
      rests.push(next);
      return next.promise;
    };
    const replaced = feed.replaceAll([aStored("c", "2"), aStored("d", "3")], { rest });
    const steps: string[] = [];
    for (let at = 0; at < 4; at += 1) {
      await nextTurn();
      steps.push(
        changes
          .slice(3)
          .map(({ key }) => key)
          .join(),
      );
      rests[at]?.resolve();
    }
    await replaced;
    const order = ["team/a", "team/b", "team/c", "team/d"];
    expect(steps).toEqual(order.map((_, at) => order.slice(0, at + 1).join()));
    expect(store.keys()).toEqual(["team/c", "team/d"]);
  });

  it("notifies the other listeners if one fails", () => {
    const { feed } = openFeed();
    const received: string[] = [];
    const reported: string[] = [];
    using _reports = onUnexpectedError((where) => reported.push(where));
    feed.onChange(() => {
      throw new Error("a mistake");
    });
    feed.onChange(({ key }) => received.push(key));
    feed.set(aStored("a", "1"));
    expect(received).toEqual(["team/a"]);
    expect(reported).toEqual(["watch"]);
  });

  it("notifies a removed listener no more, and the others still", () => {
    const { feed, changes } = openFeed();
    const received: string[] = [];
    const listener = ({ key }: Change<KubeObject>) => received.push(key);
    const first = feed.onChange(listener);
    feed.onChange(listener);
    first[Symbol.dispose]();
    feed.set(aStored("a", "1"));
    expect(received).toEqual(["team/a"]);
    expect(changes).toHaveLength(1);
  });
});
