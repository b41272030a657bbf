import { createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { publicKeysName, publicKeysPart, signingSecretName } from "../../../api/between-programs/memory-keys.ts";
import { configMapType, secretType } from "../../../api/kinds/core.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { permitBytes, signPermit } from "./permit.ts";
import { publicTextOf, readSigningKey } from "./signing-key.ts";

const namespace = "agent-sandbox-system";
const never = new AbortController().signal;
const permit = {
  ...{ podUID: "u", namespace: "n", podName: "p", sandboxUID: "s" },
  ...{ image: "i", imageHash: "h", runHash: "r", runscVersion: "v" },
};

async function open() {
  const api = await openMemoryApi();
  const read = () => readSigningKey({ client: api.client, namespace }, never);
  const publicKeys = async () => (await api.client.get(configMapType, { namespace, name: publicKeysName })).data;
  return { client: api.client, read, publicKeys, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

describe("the key that signs permits", () => {
  it("is made once, also by replicas that begin together, and nodes are told its public half alone", async () => {
    await using world = await open();
    const [one, other] = await Promise.all([world.read(), world.read()]);
    expect(other.equals(one)).toBe(true);
    const lines = (await world.publicKeys())?.[publicKeysPart]?.trim().split("\n");
    expect(lines).toEqual([publicTextOf(one)]);
    const x = Buffer.from(lines?.[0] ?? "", "base64").toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    expect(verify(null, permitBytes(permit), key, Buffer.from(signPermit(permit, one), "base64"))).toBe(true);
  });

  it("is never overwritten, not even if it is no key", async () => {
    await using world = await open();
    const data = { "ed25519.key": Buffer.from("mine").toString("base64") };
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: signingSecretName, namespace }, data };
    await world.client.create(secretType, secret);
    await expect(world.read()).rejects.toThrow("has no Ed25519 key");
    expect((await world.client.get(secretType, { namespace, name: signingSecretName })).data).toEqual(data);
  });

  it("is told beside the keys that nodes know", async () => {
    await using world = await open();
    const metadata = { name: publicKeysName, namespace };
    const data = { [publicKeysPart]: "bmV4dA==\n", note: "ours" };
    await world.client.create(configMapType, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
    const key = await world.read();
    await world.read();
    expect(await world.publicKeys()).toEqual({ [publicKeysPart]: `${publicTextOf(key)}\nbmV4dA==\n`, note: "ours" });
  });
});
