import { expect, it } from "vitest";
import { namespaceType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { openSleepLab } from "../../test/support/labs/sleep-lab.ts";

it("a suspension whose write hangs delays no sandbox of another namespace", { timeout: 60_000 }, async () => {
  await using lab = await openSleepLab();
  const hangs = Promise.withResolvers<void>();
  let hanging = 0;
  const client = interceptCalls(lab.client, async ({ verb, name, body }, proceed) => {
    if (verb === "patch" && name.startsWith("hangs") && JSON.stringify(body).includes('"Suspended"}')) {
      hanging += 1;
      await hangs.promise;
    }
    return proceed();
  });
  await using _controller = await lab.startController({ client });
  using answers = new DisposableStack();
  answers.defer(hangs.resolve); // before the controller ends, which waits for its writes
  const autoSuspension = { inactivityTimeoutSeconds: 1 };
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }], nodeName: "node-1" } };
  const make = (namespace: string, name: string) =>
    lab.client.create(sandboxType, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace, name },
      spec: { podTemplate, autoSuspension },
    });
  await lab.client.create(namespaceType, { apiVersion: "v1", kind: "Namespace", metadata: { name: "crowd" } });
  await Promise.all(Array.from({ length: 30 }, (_, index) => make("crowd", `hangs-${index}`)));
  await expect.poll(() => hanging, { timeout: 20_000 }).toBeGreaterThan(0);
  await make("default", "nova");
  await lab.untilAsleep();
  expect(hanging).toBe(8);
});
