import { expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { sandboxWarmPoolType } from "../../api/kinds/sandbox-warm-pool.ts";
import type { Change } from "../../kube/informer/informer.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { memberChanges } from "./member-changes.ts";
import { expectationsKey } from "./members.ts";
import { Expectations } from "./resize/expectations.ts";

const { kind } = sandboxWarmPoolType;
const apiVersion = apiVersionOf(sandboxWarmPoolType);
const pool = { apiVersion, kind, name: "pool", uid: "pool-uid", controller: true };

function memberOf(namespace: string, name: string): Stored<Sandbox> {
  const metadata = { namespace, name, uid: `${namespace}-${name}`, resourceVersion: "1", ownerReferences: [pool] };
  return { metadata, spec: { podTemplate: { spec: { containers: [] } } } } as unknown as Stored<Sandbox>;
}

it("a sandbox of another namespace that names a pool's UID fulfils no expectation of that pool", () => {
  const expectations = new Expectations(new FakeClock(), { hasSeen: () => true });
  const owner = expectationsKey("lab", "pool-uid");
  expectations.tryExpectCreations(expectations.snapshot(owner), 2);
  let notify: (change: Change<Sandbox>) => void = () => {};
  const enqueued: string[] = [];
  const sandboxes = {
    onChange(listener: (change: Change<Sandbox>) => void) {
      notify = listener;
      return { [Symbol.dispose]() {} };
    },
  };
  memberChanges(sandboxes, expectations)((key) => void enqueued.push(key));
  const made = (namespace: string) =>
    notify({ previous: undefined, current: memberOf(namespace, "a") } as Change<Sandbox>);
  made("other");
  expect(expectations.snapshot(owner).pendingCreations).toBe(2);
  made("lab");
  expect(expectations.snapshot(owner).pendingCreations).toBe(1);
  expect(enqueued).toEqual(["other/pool", "lab/pool"]);
});
