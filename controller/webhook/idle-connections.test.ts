import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { anAlphaSandbox, core } from "../../test/support/builders/versions.ts";
import {
  callWebhook,
  certificateSecretOf,
  openWebhookApi,
  reviewOf,
  secretText,
  webhookService,
} from "../../test/support/labs/webhook-world.ts";
import { startWebhook } from "./start-webhook.ts";

/** Keeps so many connections open that say nothing, each made anew when it is closed. */
function crowd(port: number, count: number, localAddress: string): Disposable {
  const open = new Set<Socket>();
  let over = false;
  const join = () => {
    if (over) return;
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    open.add(socket);
    socket
      .on("error", () => {})
      .on("close", () => {
        open.delete(socket);
        setTimeout(join, 100);
      });
  };
  for (let i = 0; i < count; i += 1) join();
  return {
    [Symbol.dispose]() {
      over = true;
      for (const socket of open) socket.destroy();
    },
  };
}

it.each([
  { whose: "other addresses", addresses: ["127.0.0.5", "127.0.0.6"] },
  { whose: "the API server's own address", addresses: ["127.0.0.1"] },
])("connections of $whose that say nothing make no conversion fail", async ({ addresses }) => {
  await using api = await openWebhookApi();
  await using webhook = await startWebhook(
    { port: 0, service: webhookService, certificateFiles: undefined },
    { client: api.client, clock: systemClock, log: silentLogger, clusterDomain: "cluster.local" },
  );
  const ca = secretText(await certificateSecretOf(api.client), "ca.crt");
  using crowds = new DisposableStack();
  for (const address of addresses) crowds.use(crowd(webhook.port, 300, address));
  const body = reviewOf([anAlphaSandbox({ replicas: 0 })], core.beta);
  for (let i = 0; i < 10; i += 1) {
    expect((await callWebhook({ port: webhook.port, ca, body })).code).toBe(200);
  }
});
