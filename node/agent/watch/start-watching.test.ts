import { expect, it } from "vitest";
import type { KubeClient, Selection } from "../../../kube/client/client.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { startWatching } from "./start-watching.ts";

it("an API server that refuses the selector is listed without it, also after an error of the network", async () => {
  const asked: (string | undefined)[] = [];
  const client = {
    async list({ plural }: { readonly plural: string }, selection: Selection = {}) {
      if (plural !== "memoryimages") return { items: [], metadata: { resourceVersion: "1" } };
      asked.push(selection.fieldSelector);
      if (asked.length === 1) throw new Error("connect ECONNREFUSED");
      if (selection.fieldSelector)
        throw new ApiError(400, {
          apiVersion: "v1",
          kind: "Status",
          message: "field label not supported: spec.nodeName",
        });
      return { items: [], metadata: { resourceVersion: "1" } };
    },
    async *watch(_type: unknown, _options: unknown, signal: AbortSignal) {
      yield* [];
      await systemClock.sleep(60_000, signal);
    },
  } as unknown as KubeClient;
  const stop = new AbortController();
  const parts = { client, clock: systemClock, log: silentLogger, nodeName: "n1" };
  await using watching = await startWatching(parts, stop.signal);
  await watching.synced;
  expect(asked).toEqual(["spec.nodeName=n1", "spec.nodeName=n1", undefined]);
  stop.abort();
});
