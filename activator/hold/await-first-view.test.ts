import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import type { RequestHead } from "../request.ts";
import { ChangeSignal, changesOf } from "../sandbox/change-signal.ts";
import { FirstView, type FirstViewDeps } from "./await-first-view.ts";
import { HoldDeadlines } from "./hold-deadlines.ts";
import { HoldLimits } from "./hold-limits.ts";

const never = new Promise<void>(() => {});
const nothing: Disposable = { [Symbol.dispose]() {} };

it.each([
  ["X-Sandbox-Timeout", { headers: [["x-sandbox-timeout", "2"]] as const }],
  ["grpc-timeout", { headers: [], grpc: { timeoutMs: 2_000 } }],
])("a request that waits for the first view waits no longer than its %s", async (_, stated) => {
  const clock = new FakeClock();
  const deps: Pick<FirstViewDeps, "clock" | "holdLimits" | "holdDeadlines" | "domains" | "proxyTimeoutMs"> = {
    clock,
    holdLimits: new HoldLimits({ total: 10, perNamespace: 10, perSandbox: 10 }),
    holdDeadlines: new HoldDeadlines(clock),
    domains: { domain: "sandbox.localhost", clusterDomain: "cluster.local", serviceNames: [] },
    proxyTimeoutMs: 900_000,
  };
  const listen = () => changesOf(new ChangeSignal(), nothing);
  const cluster = { synced: false, silentMs: () => 0, firstSeen: never, sandbox: () => undefined, listen };
  const view = new FirstView({ ...deps, cluster, claims: { settled: false, firstSettled: never } });
  const head: RequestHead = {
    ...{ method: "POST", protocol: "HTTP/2", target: "/", host: "nova.default.sandbox.localhost" },
    ...{ peer: "127.0.0.1", upgrade: false },
    ...stated,
  };
  const request = { head, seenMs: clock.ticksMs(), left: false, onLeave() {} };
  let failure: unknown;
  view
    .known(request, { namespace: "default", name: "nova" }, { held: () => nothing })
    ?.catch((error: unknown) => (failure = error));
  await clock.advance(2_000);
  expect(failure).toMatchObject({ code: "ClusterUnseen" });
});
