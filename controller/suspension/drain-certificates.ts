import { X509Certificate } from "node:crypto";
import { type Secret, secretType } from "../../api/core.ts";
import { drainSecretKeys, drainSecretName, drainServerName } from "../../api/drain-credentials.ts";
import type { Stored } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/errors.ts";
import {
  type CertificatePair,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../../lib/certificates.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Running, startTask } from "../../lib/lifecycle.ts";
import type { Logger } from "../../lib/log.ts";
import { backdatedMs, lifetimeMs, livingAuthorities, lookAgainMaxMs, renewBeforeMs } from "../webhook/rotation.ts";
import type { DrainCredentials } from "./drain-client.ts";

export interface DrainCertificatesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where the activators are. */
  readonly namespace: string;
}

export interface DrainCertificates extends Running {
  readonly current: () => DrainCredentials;
}

const attemptsMax = 5;
const retryMs = 60_000;

/**
 * Keeps the certificates of the drain port in a Secret that the activators read too: makes them where there are none, and
 * all of them anew before they end. Until an activator has read the new ones it counts as one that cannot be reached, which
 * keeps sandboxes awake and nothing else.
 *
 * @throws what `KubeClient` throws, when it cannot begin.
 */
export async function startDrainCertificates(options: DrainCertificatesOptions): Promise<DrainCertificates> {
  const { clock, log } = options;
  let current = await bringUpToDate(options);
  const task = startTask("the renewal of the drain port's certificates", async (signal) => {
    for (let waitMs = waitFor(current, clock.now()); ; ) {
      await clock.sleep(waitMs, signal);
      try {
        current = await bringUpToDate(options, signal);
        waitMs = waitFor(current, clock.now());
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ err }, "cannot look after the drain port's certificates; trying again");
        waitMs = retryMs;
      }
    }
  });
  return {
    failed: task.failed,
    current: () => current,
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  };
}

const endOf = (certificate: string): number => new X509Certificate(certificate).validToDate.getTime();

const waitFor = ({ certificate }: DrainCredentials, now: Date): number =>
  Math.max(Math.min(endOf(certificate) - renewBeforeMs - now.getTime(), lookAgainMaxMs), retryMs);

async function bringUpToDate(options: DrainCertificatesOptions, signal?: AbortSignal): Promise<DrainCredentials> {
  const { client, clock, log, namespace } = options;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const secret = await find(client, namespace, signal);
    const known = secret && credentialsIn(secret, clock.now());
    if (known) return known;
    log.info("the drain port's certificates are made anew");
    await write(client, await makeSecret(namespace, secret, clock.now()), signal);
  }
  throw new Error(`Secret ${namespace}/${drainSecretName} changed each time that it was looked at`);
}

async function find(client: KubeClient, namespace: string, signal?: AbortSignal) {
  try {
    return await client.get(secretType, { namespace, name: drainSecretName }, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Of replicas that write at once, all but the first go by what that one has made. */
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

/** What the Secret holds; undefined when a part is missing or ends soon. */
function credentialsIn(secret: Secret, now: Date): DrainCredentials | undefined {
  const part = (name: keyof typeof drainSecretKeys) => partOf(secret, drainSecretKeys[name]);
  const mine = { certificate: part("controllerCertificate"), key: part("controllerKey") };
  const theirs = { certificate: part("activatorCertificate"), key: part("activatorKey") };
  const authorities = part("authorities");
  const lasts = (certificate: string) => endOf(certificate) - now.getTime() > renewBeforeMs;
  try {
    if (![mine, theirs].every(({ certificate, key }) => key !== "" && lasts(certificate))) return undefined;
    return lasts(authorities) ? { authorities, ...mine } : undefined;
  } catch {
    return undefined; // some part is no certificate
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

/** Former authorities that somebody's certificate may still be signed by. */
function stillGood(pem: string, now: Date): readonly string[] {
  try {
    const all = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    return livingAuthorities(all, now);
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
