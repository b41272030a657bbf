import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, it } from "vitest";
import { customResourceDefinitionType, type Secret, secretType, serviceType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { clusterDomain } from "../../../cluster/network.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import {
  type CertificateSet,
  certificateSecretData,
  readCertificateSecret,
} from "../../../controller/webhook/certificate-secret.ts";
import { makeCertificates, withNewAuthority } from "../../../controller/webhook/make-certificates.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { sandboxNamed } from "../e2e/support/sandboxes.ts";
import { startTraffic } from "../e2e/support/traffic.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { openPools } from "./support/pools.ts";

const { namespace } = release;
const service = { namespace, name: "agent-sandbox-webhook-service" };
const hourMs = 3_600_000;
const ago = (ms: number) => new Date(systemClock.now().getTime() - ms);

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const readSecret = (): Promise<Stored<Secret>> =>
  cluster.client.get(secretType, { namespace, name: "agent-sandbox-webhook-certs" });

/** Writes these certificates into the Secret, and makes each replica read them. */
async function hand(set: CertificateSet): Promise<void> {
  const secret = await readSecret();
  await cluster.client.replace(secretType, { ...secret, data: { ...secret.data, ...certificateSecretData(set) } });
  const rollout = (...args: readonly string[]) =>
    cluster.kubectl.run(["rollout", ...args, "deployment/agent-sandbox-controller", `--namespace=${namespace}`]);
  await rollout("restart");
  await rollout("status", "--timeout=180s");
}

async function trustedAuthorities(): Promise<number> {
  const { spec } = await cluster.client.get(customResourceDefinitionType, { name: "sandboxes.agents.x-k8s.io" });
  const bundle = JSON.stringify(spec).match(/"caBundle":"([^"]+)"/)?.[1] ?? "";
  return (
    Buffer.from(bundle, "base64")
      .toString()
      .match(/BEGIN CERTIFICATE/g)?.length ?? 0
  );
}

/** The expiry time of the certificate that a replica presents. */
async function shownUntil(): Promise<Date> {
  const { spec } = await cluster.client.get(serviceType, service);
  return new Promise((resolve, reject) => {
    // The certificate is not verified, because only its content is read.
    const socket = connect({ host: spec?.clusterIP ?? "", port: 443, rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      resolve(new X509Certificate(raw).validToDate);
    });
    socket.on("error", reject);
  });
}

it("replaces an expiring CA, then the certificate, while no v1alpha1 request fails", async () => {
  await using test = await openPools(cluster);
  await test.apply(sandboxNamed("asleep"));
  await test.untilAsleep("asleep");
  const url = `${cluster.url}/apis/agents.x-k8s.io/v1alpha1/namespaces/${test.namespace}/sandboxes/asleep`;
  await using traffic = startTraffic(async () => {
    const response = await cluster.fetch(url);
    if (!response.ok) throw new Error(await response.text());
    await response.text();
  });
  const before = readCertificateSecret(await readSecret());
  // The certificates after eleven months. The ones that the replicas present now are still trusted.
  const old = await makeCertificates(service, clusterDomain, ago(340 * 24 * hourMs));
  await hand({ ...old, authorities: [...old.authorities, ...before.authorities] });
  await eventually(async () => (await trustedAuthorities()) === before.authorities.length + 2);
  expect(readCertificateSecret(await readSecret()).server).toEqual(old.server);

  // The new CA has been trusted for an hour, so it may sign a certificate now.
  const [, ...others] = readCertificateSecret(await readSecret()).authorities;
  await hand(await withNewAuthority({ ...old, authorities: others }, ago(hourMs)));
  const renewed = readCertificateSecret(await readSecret());
  expect(renewed.server).not.toEqual(old.server);
  // A replica that is shutting down may still be called, and presents the certificate that it has.
  await eventually(async () => (await shownUntil()) > ago(-300 * 24 * hourMs), 60_000);
  await traffic.stop();
  expect(traffic.failures).toEqual([]);
  expect(traffic.answered).toBeGreaterThan(100);
}, 480_000);
