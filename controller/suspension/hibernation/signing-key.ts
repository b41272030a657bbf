import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { publicKeysName, publicKeysPart, signingSecretName } from "../../../api/between-programs/memory-keys.ts";
import { type ConfigMap, configMapType, type Secret, secretType } from "../../../api/kinds/core.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isNotFound, undefinedIfNotFound } from "../../../kube/client/errors.ts";
import { privateKeyIn } from "../../../lib/certificates/private-key.ts";

const privateKeyFile = "ed25519.key";

export interface SigningKeyOptions {
  readonly client: KubeClient;
  /** The namespace of the controller. */
  readonly namespace: string;
}

/** What nodes read: the raw key in base64. */
export function publicTextOf(key: KeyObject): string {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

const attemptsMax = 5;

/**
 * The key of the Secret, which is made once and never overwritten. Nodes are told its public half, beside those that they know: a person who changes
 * the key adds the next one first, and removes the former one last.
 *
 * @throws an error if the Secret has no Ed25519 key, and what `KubeClient` throws.
 */
export async function readSigningKey(options: SigningKeyOptions, signal: AbortSignal): Promise<KeyObject> {
  const key = await readKey(options, signal);
  await tellUntilKnown(options, key, signal);
  return key;
}

/** Tells nodes the public half. Nothing is written if they know it. */
export async function tellUntilKnown(options: SigningKeyOptions, key: KeyObject, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (await tellPublicKey(options, publicTextOf(key), signal)) return;
  }
  throw new Error(`ConfigMap ${options.namespace}/${publicKeysName} kept changing: every update conflicted`);
}

async function readKey({ client, namespace }: SigningKeyOptions, signal: AbortSignal): Promise<KeyObject> {
  const name = { namespace, name: signingSecretName };
  const found = await client.get(secretType, name, signal).catch(undefinedIfNotFound);
  const secret = found ?? (await makeKey(client, namespace, signal)) ?? (await client.get(secretType, name, signal));
  const text = Buffer.from(secret.data?.[privateKeyFile] ?? "", "base64").toString("utf8");
  const key = privateKeyIn(text);
  if (key?.asymmetricKeyType !== "ed25519") {
    throw new Error(`Secret ${namespace}/${signingSecretName} has no Ed25519 key in ${privateKeyFile}`);
  }
  return key;
}

/** Undefined if another replica came first: its key counts. */
async function makeKey(client: KubeClient, namespace: string, signal: AbortSignal) {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" });
  const secret: Secret = {
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name: signingSecretName, namespace }, type: "Opaque" },
    data: { [privateKeyFile]: Buffer.from(pem).toString("base64") },
  };
  try {
    return await client.create(secretType, secret, {}, signal);
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    throw error;
  }
}

/** Returns whether nodes are told this key. */
async function tellPublicKey({ client, namespace }: SigningKeyOptions, key: string, signal: AbortSignal) {
  const name = { namespace, name: publicKeysName };
  const known = await client.get(configMapType, name, signal).catch(undefinedIfNotFound);
  const text = known?.data?.[publicKeysPart] ?? "";
  if (text.split("\n").some((line) => line.trim() === key)) return true;
  const data = { ...known?.data, [publicKeysPart]: `${key}\n${text}` };
  const made: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata: name, data };
  try {
    if (known) await client.replace(configMapType, { ...known, data }, {}, signal);
    else await client.create(configMapType, made, {}, signal);
    return true;
  } catch (error) {
    if (isAlreadyExists(error) || isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}
