import { type Secret, secretType } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import { type CertificateSource, CurrentCertificate } from "../../lib/certificate-source.ts";
import type { Clock } from "../../lib/clock.ts";
import { startTask } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { type CertificateSet, certificateSecretData, readCertificateSecret } from "./certificate-secret.ts";
import {
  makeCertificates,
  serverHostName,
  type WebhookService,
  withNewAuthority,
  withNewServer,
} from "./make-certificates.ts";
import { nextRotationStep } from "./rotation.ts";
import { trustAuthorities } from "./trusted-authorities.ts";

export interface ManagedCertificatesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly service: WebhookService;
  readonly clusterDomain: string;
}

export const certificateSecretName = "agent-sandbox-webhook-certs";

// Replicas may look at the same moment, and all but one of them has to look again.
const attemptsMax = 5;
const retryMs = 60_000;

/** What was found or made, and for how long nothing will have to be done about it. */
interface Standing {
  readonly set: CertificateSet;
  readonly lookAgainMs: number;
}

/**
 * Keeps the webhook's certificates in a Secret that all replicas share: makes them where there are none, tells the API
 * server to trust them, and renews them before they end. They are shown from memory; only the Secret holds the keys.
 *
 * @throws UnusableSecret, or what `KubeClient` throws, when it cannot begin.
 */
export async function startManagedCertificates(options: ManagedCertificatesOptions): Promise<CertificateSource> {
  const { clock, log } = options;
  const first = await bringUpToDate(options);
  const current = new CurrentCertificate(first.set.server);
  const task = startTask("the renewal of the webhook's certificates", async (signal) => {
    for (let waitMs = first.lookAgainMs; ; ) {
      await clock.sleep(waitMs, signal);
      try {
        const { set, lookAgainMs } = await bringUpToDate(options, signal);
        if (current.set(set.server)) log.info("the webhook shows a new certificate");
        waitMs = lookAgainMs;
      } catch (err) {
        if (signal.aborted) return;
        // What is shown is good for weeks: there is time to try again.
        log.warn({ err }, "cannot look after the webhook's certificates; trying again");
        waitMs = retryMs;
      }
    }
  });
  return {
    failed: task.failed,
    current: () => current.current(),
    onChange: (listener) => current.onChange(listener),
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

/** Takes one step after the other, each seen by the API server before the next, until nothing is due. */
async function bringUpToDate(options: ManagedCertificatesOptions, signal?: AbortSignal): Promise<Standing> {
  const { client, clock, log, service, clusterDomain } = options;
  const hostName = serverHostName(service);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const secret = (await findSecret(options, signal)) ?? (await createSecret(options, signal));
    if (!secret) continue;
    const set = readCertificateSecret(secret);
    await trustAuthorities(client, { service, caBundle: secret.data?.["ca.crt"] ?? "" }, signal);
    const step = nextRotationStep(set, hostName, clock.now());
    if (step.do === "keep") return { set, lookAgainMs: step.lookAgainMs };
    log.info({ step: step.do }, "the webhook's certificates are renewed");
    const next =
      step.do === "renewServer"
        ? await withNewServer(set, service, clusterDomain, clock.now())
        : await withNewAuthority(set, clock.now());
    await replaceSecret(client, secret, next, signal);
  }
  throw new Error(`Secret ${service.namespace}/${certificateSecretName} changed each time that it was looked at`);
}

async function findSecret({ client, service }: ManagedCertificatesOptions, signal?: AbortSignal) {
  try {
    return await client.get(secretType, { namespace: service.namespace, name: certificateSecretName }, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The new Secret; undefined when another replica was first, whose Secret is then everybody's. */
async function createSecret(
  { client, clock, service, clusterDomain }: ManagedCertificatesOptions,
  signal?: AbortSignal,
): Promise<Stored<Secret> | undefined> {
  const set = await makeCertificates(service, clusterDomain, clock.now());
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: certificateSecretName, namespace: service.namespace },
    type: "Opaque",
    data: certificateSecretData(set),
  };
  try {
    return await client.create(secretType, secret, {}, signal);
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    throw error;
  }
}

/** Writes only over what was read: of two replicas that renew at once, the second goes by what the first has made. */
async function replaceSecret(
  client: KubeClient,
  secret: Stored<Secret>,
  set: CertificateSet,
  signal?: AbortSignal,
): Promise<void> {
  const data = { ...secret.data, ...certificateSecretData(set) };
  try {
    await client.replace(secretType, { ...secret, data }, {}, signal);
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
