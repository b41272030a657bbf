import { isDeepStrictEqual } from "node:util";
import { drainSecretKeys, drainSecretName, drainServerName } from "../../../api/between-programs/drain-credentials.ts";
import { type Secret, secretType } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isNotFound, undefinedIfNotFound } from "../../../kube/client/errors.ts";
import { untilAnswered } from "../../../kube/client/until-answered.ts";
import { followObject } from "../../../kube/informer/follow-object.ts";
import { certificatesIn, chainTrustedForMs } from "../../../lib/certificates/certificate-chain.ts";
import {
  type CertificatePair,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../../../lib/certificates/certificates.ts";
import { keyFits } from "../../../lib/certificates/private-key.ts";
import type { Logger } from "../../../lib/log/log.ts";
import { firstFailure, type Running } from "../../../lib/process/lifecycle.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { startUpkeep } from "../../upkeep.ts";
import {
  backdatedMs,
  checkAgainMaxMs,
  formerAuthoritiesMax,
  lifetimeMs,
  livingAuthorities,
  renewBeforeMs,
} from "../../webhook/rotation.ts";
import type { DrainCredentials } from "./drain-client.ts";

export interface DrainCertificatesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** The namespace of the activators. */
  readonly namespace: string;
  /** Ends the start while the API server is away. */
  readonly stop?: AbortSignal | undefined;
}

export interface DrainCertificates extends Running {
  readonly current: () => DrainCredentials;
}

const attemptsMax = 5;
/** The shortest interval between two checks without a trigger. */
const restMinMs = 60_000;

/**
 * Keeps the certificates of the drain listener in a Secret that the activators read too: makes them where there are none, and
 * all of them anew before they end. A Secret that is deleted is made anew at once, for an activator that starts waits for it;
 * one that is replaced is used at once. Until an activator has read the new ones it counts as one that cannot be reached, which
 * keeps sandboxes awake and nothing else. While the API server is away at the start it waits, as `untilAnswered` does.
 *
 * @throws what `untilAnswered` throws, when it cannot begin.
 */
export async function startDrainCertificates(options: DrainCertificatesOptions): Promise<DrainCertificates> {
  const { client, clock, log, namespace, stop } = options;
  const first = { clock, log, what: "make the certificates of the drain listener", signal: stop };
  let current = await untilAnswered(first, (signal) => bringUpToDate(options, signal));
  await using stack = new AsyncDisposableStack();
  const upkeep = stack.use(
    startUpkeep({
      name: "the drain listener's certificates",
      clock,
      log,
      firstCheckInMs: waitFor(current, clock.now()),
      async check(signal) {
        current = await bringUpToDate(options, signal);
        return waitFor(current, clock.now());
      },
    }),
  );
  const name = { namespace, name: drainSecretName };
  const secret = stack.use(followObject({ client, clock, log, type: secretType, name }));
  secret.onChange(({ current: seen }) => {
    const stored = seen && credentialsIn(seen, clock.now());
    if (!isDeepStrictEqual(stored, current)) upkeep.checkSoon();
  });
  const started = stack.move();
  return {
    failed: firstFailure(upkeep, secret),
    current: () => current,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** How long a peer that trusts the authorities accepts this certificate. */
const trustedForMs = ({ certificate, authorities }: Pick<DrainCredentials, "certificate" | "authorities">, now: Date) =>
  chainTrustedForMs({ certificate, authorities: certificatesIn(authorities) }, now);

const waitFor = (current: DrainCredentials, now: Date): number =>
  Math.max(Math.min(trustedForMs(current, now) - renewBeforeMs, checkAgainMaxMs), restMinMs);

async function bringUpToDate(options: DrainCertificatesOptions, signal?: AbortSignal): Promise<DrainCredentials> {
  const { client, clock, log, namespace } = options;
  const name = { namespace, name: drainSecretName };
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const secret = await client.get(secretType, name, signal).catch(undefinedIfNotFound);
    const known = secret && credentialsIn(secret, clock.now());
    if (known) return known;
    log.info("making new certificates for the drain listener");
    await write(client, await makeSecret(namespace, secret, clock.now()), signal);
  }
  throw new Error(`Secret ${namespace}/${drainSecretName} kept changing: every update conflicted`);
}

/** If replicas write at once, all but the first use the certificates of the first. */
async function write(client: KubeClient, secret: Secret | Stored<Secret>, signal?: AbortSignal): Promise<void> {
  try {
    if (isStored(secret)) await client.replace(secretType, secret, {}, signal);
    else await client.create(secretType, secret, {}, signal);
  } catch (error) {
    if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
  }
}

const isStored = (secret: Secret | Stored<Secret>): secret is Stored<Secret> =>
  secret.metadata.resourceVersion !== undefined;

const partOf = ({ data = {} }: Secret, key: string): string => Buffer.from(data[key] ?? "", "base64").toString("utf8");

/** The content of the Secret; undefined when a part is missing, does not fit the others, or expires too soon for a peer. */
function credentialsIn(secret: Secret, now: Date): DrainCredentials | undefined {
  const part = (name: keyof typeof drainSecretKeys) => partOf(secret, drainSecretKeys[name]);
  const mine = { certificate: part("controllerCertificate"), key: part("controllerKey") };
  const theirs = { certificate: part("activatorCertificate"), key: part("activatorKey") };
  const authorities = part("authorities");
  const lasts = ({ certificate }: CertificatePair) => trustedForMs({ certificate, authorities }, now) > renewBeforeMs;
  try {
    return [mine, theirs].every((pair) => keyFits(pair) && lasts(pair)) ? { authorities, ...mine } : undefined;
  } catch {
    return undefined; // some part is not a certificate
  }
}

async function makeSecret(namespace: string, former: Stored<Secret> | undefined, now: Date): Promise<Secret> {
  const validity = {
    notBefore: new Date(now.getTime() - backdatedMs),
    notAfter: new Date(now.getTime() + lifetimeMs),
  };
  const authority = await makeAuthority("rouse-drain-ca", validity);
  const theirs = await makeServerCertificate(authority, {
    ...{ commonName: drainServerName, dnsNames: [drainServerName], ipAddresses: [] },
    validity,
  });
  const mine = await makeClientCertificate(authority, { commonName: "rouse-controller", organizations: [], validity });
  const known = former ? partOf(former, drainSecretKeys.authorities) : "";
  const authorities = [authority.certificate, ...stillGood(known, now)].map((pem) => `${pem.trim()}\n`).join("");
  const data = dataOf(authorities, theirs, mine);
  if (former) return { ...former, data: { ...former.data, ...data } };
  const metadata = { name: drainSecretName, namespace };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
}

/** Former authorities whose certificates may still be in use. */
function stillGood(pem: string, now: Date): readonly string[] {
  try {
    return livingAuthorities(certificatesIn(pem), now).slice(0, formerAuthoritiesMax);
  } catch {
    return [];
  }
}

function dataOf(authorities: string, theirs: CertificatePair, mine: CertificatePair): Readonly<Record<string, string>> {
  const parts: Readonly<Record<keyof typeof drainSecretKeys, string>> = {
    authorities,
    activatorCertificate: theirs.certificate,
    activatorKey: theirs.key,
    controllerCertificate: mine.certificate,
    controllerKey: mine.key,
  };
  return Object.fromEntries(
    (Object.keys(parts) as (keyof typeof parts)[]).map((name) => [
      drainSecretKeys[name],
      Buffer.from(parts[name]).toString("base64"),
    ]),
  );
}
