import { isDeepStrictEqual } from "node:util";
import { customResourceDefinitions } from "../../api/crd/definitions.ts";
import { customResourceDefinitionType, type Secret, secretType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isNotFound, undefinedIfNotFound } from "../../kube/client/errors.ts";
import { untilAnswered } from "../../kube/client/until-answered.ts";
import { followObject } from "../../kube/informer/follow-object.ts";
import { type CertificateSource, CurrentCertificate } from "../../lib/certificates/certificate-source.ts";
import type { Logger } from "../../lib/log/log.ts";
import { firstFailure, type Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { startUpkeep } from "../upkeep.ts";
import { type CertificateSet, certificateSecretData, readCertificateSecret } from "./certificate-secret.ts";
import { FormerAuthorities } from "./former-authorities.ts";
import {
  makeCertificates,
  serverHostName,
  type WebhookService,
  withNewAuthority,
  withNewServer,
} from "./make-certificates.ts";
import { nextRotationStep } from "./rotation.ts";
import { conversionAlone, conversionPatch, trustAuthorities } from "./trusted-authorities.ts";

export interface ManagedCertificatesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly service: WebhookService;
  readonly clusterDomain: string;
  /** Ends the start while the API server is away. */
  readonly stop?: AbortSignal | undefined;
}

export const certificateSecretName = "agent-sandbox-webhook-certs";

// Replicas may check at the same time, and all but one of them must check again.
const attemptsMax = 5;

/** What was found or made, and for how long nothing will have to be done about it. */
interface CertificateState {
  readonly secret: Stored<Secret>;
  readonly set: CertificateSet;
  readonly checkAgainMs: number;
}

/**
 * Keeps the webhook's certificates in a Secret that all replicas share: makes them where there are none, has the API
 * server trust them, and renews them before they end. Every replica shows what the Secret says within seconds, whatever
 * happens to it, and puts back what a definition has lost. They are shown from memory; only the Secret holds the keys.
 * While the API server is away it waits, as `untilAnswered` does.
 *
 * @throws UnusableSecret, or what `untilAnswered` throws, when it cannot begin.
 */
export async function startManagedCertificates(options: ManagedCertificatesOptions): Promise<CertificateSource> {
  const { clock, log, stop } = options;
  const former = new FormerAuthorities(clock);
  const first = { clock, log, what: "make the certificates of the webhook", signal: stop };
  let standing = await untilAnswered(first, (signal) => bringUpToDate(options, former, signal));
  const current = new CurrentCertificate(standing.set.server);
  await using stack = new AsyncDisposableStack();
  const upkeep = stack.use(
    startUpkeep({
      name: "the webhook's certificates",
      clock,
      log,
      firstCheckInMs: standing.checkAgainMs,
      async check(signal) {
        standing = await bringUpToDate(options, former, signal);
        if (current.set(standing.set.server)) log.info("webhook certificate reloaded");
        return standing.checkAgainMs;
      },
    }),
  );
  const watches = stack.use(startWatches(options, former, () => standing.secret, upkeep.checkSoon));
  const started = stack.move();
  return {
    failed: firstFailure(upkeep, watches),
    current: () => current.current(),
    onChange: (listener) => current.onChange(listener),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Watches the Secret and the definitions, and calls back when one is not as it has to be. */
function startWatches(
  { client, clock, log, service }: ManagedCertificatesOptions,
  former: FormerAuthorities,
  known: () => Stored<Secret>,
  checkSoon: () => void,
): Running {
  const stack = new AsyncDisposableStack();
  const base = { client, clock, log };
  const name = { namespace: service.namespace, name: certificateSecretName };
  const secret = stack.use(followObject({ ...base, type: secretType, name }));
  secret.onChange(({ current }) => {
    if (!current || !isDeepStrictEqual(current.data, known().data)) checkSoon();
  });
  const definitions = customResourceDefinitions().map(({ metadata }) => {
    const options = { ...base, type: customResourceDefinitionType, name: { name: metadata.name } };
    return stack.use(followObject({ ...options, transform: conversionAlone }));
  });
  for (const definition of definitions) {
    definition.onChange(({ current }) => {
      const caBundle = known().data?.["ca.crt"] ?? "";
      if (current && conversionPatch(current, { service, caBundle, former })) checkSoon();
    });
  }
  return { failed: firstFailure(secret, ...definitions), [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Takes one step after the other, each seen by the API server before the next, until nothing is due. */
async function bringUpToDate(
  options: ManagedCertificatesOptions,
  former: FormerAuthorities,
  signal?: AbortSignal,
): Promise<CertificateState> {
  const { client, clock, log, service, clusterDomain } = options;
  const hostName = serverHostName(service);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const secret = (await findSecret(options, signal)) ?? (await createSecret(options, signal));
    if (!secret) continue;
    const set = readCertificateSecret(secret);
    await trustAuthorities(client, { service, caBundle: secret.data?.["ca.crt"] ?? "", former }, signal);
    const step = nextRotationStep(set, hostName, clock.now());
    if (step.do === "keep") {
      return { secret, set, checkAgainMs: Math.min(step.checkAgainMs, former.nextEndMs ?? step.checkAgainMs) };
    }
    log.info({ step: step.do }, "renewing the certificates of the webhook");
    const next =
      step.do === "renewServer"
        ? await withNewServer(set, service, clusterDomain, clock.now())
        : await withNewAuthority(set, clock.now());
    await replaceSecret(client, secret, next, signal);
  }
  throw new Error(`Secret ${service.namespace}/${certificateSecretName} kept changing: every update conflicted`);
}

function findSecret({ client, service }: ManagedCertificatesOptions, signal?: AbortSignal) {
  const name = { namespace: service.namespace, name: certificateSecretName };
  return client.get(secretType, name, signal).catch(undefinedIfNotFound);
}

/** The new Secret; undefined when another replica was first, whose Secret all replicas then use. */
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

/**
 * Replaces only the version that was read: of two replicas that renew at once, the second uses the certificates of the
 * first.
 */
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
