import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../lib/time/clock.ts";
import { openMemoryApi } from "../test/support/memory-api.ts";
import { type DemoDependencies, demo } from "./demo.ts";

it("the demonstration only tells that the quota is full, so that everything keeps running", async () => {
  await using api = await openMemoryApi({ quotaBytes: 1 });
  let said = "";
  const address = "http://127.0.0.1:1";
  const dependencies: DemoDependencies = {
    client: api.client,
    clock: systemClock,
    say: (text) => {
      said += text;
    },
    examplesDirectory: join(import.meta.dirname, "..", "examples"),
    environment: {},
    addresses: { api: api.url, kubeconfig: "k", activator: address, metrics: address, domain: "sandbox.localhost" },
    activatorPort: 1,
    lastWake: () => undefined,
  };
  await demo(dependencies, true, new AbortController().signal);
  expect(said).toContain("The demonstration failed");
  expect(said).toContain("delete some objects and try again");
  expect(said).toContain("Ctrl-C ends everything.");
});
