import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { drainPaths } from "../../api/between-programs/drain-protocol.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import type { Change } from "../../kube/informer/informer.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { ReplicaState } from "./replica-state.ts";

const nova = aSandbox({ operatingMode: "Running" });

const aReplica = () => ({
  clock: new FakeClock(),
  log: silentLogger,
  registry: new Registry(),
  allowLoopbackPodIp: false,
});

function lab(seen: Stored<Sandbox> = nova) {
  const parts = aReplica();
  const replicaState = new ReplicaState(parts);
  let inView: Stored<Sandbox> | undefined = seen;
  let changed: (change: Change<Sandbox>) => void = () => {};
  replicaState.keepFrom({
    sandbox: () => inView,
    podOf: () => undefined,
    hasPod: () => false,
    listen: () => ({ next: () => Promise.resolve(), reset: () => {}, notify: () => {}, [Symbol.dispose]: () => {} }),
    silentMs: () => 0,
    onSandboxChange: (listener) => {
      changed = listener;
    },
    onPodGone: () => {},
    onAddressLost: () => {},
  });
  const goes = () => {
    inView = undefined;
    changed({ key: "default/nova", previous: nova, current: undefined });
  };
  return { replicaState, goes, metrics: () => parts.registry.metrics() };
}

describe("a wake after its answer", () => {
  it("is recorded while its sandbox is in view", async () => {
    const { replicaState, metrics } = lab();
    replicaState.woken(nova, 80);
    expect(replicaState.activity.size).toBe(1);
    expect(await metrics()).toContain("rouse_activator_sandboxes_with_activity 1\n");
  });

  it("leaves no record after its sandbox was seen deleted", () => {
    const { replicaState, goes } = lab();
    goes();
    replicaState.woken(nova, 80);
    expect([replicaState.activity.size, replicaState.fences.size]).toEqual([0, 0]);
  });
});

describe("a report of a suspension", () => {
  it.each([
    { what: "is superseded", uid: nova.metadata.uid, generation: 0, expected: { inFlight: 0, superseded: true } },
    { what: "is not, if it is as new", uid: nova.metadata.uid, generation: 1, expected: { inFlight: 0 } },
    { what: "is not, if it is about another sandbox", uid: "another", generation: 0, expected: { inFlight: 0 } },
  ])("that is older than the view $what", async ({ uid, generation, expected }) => {
    const { replicaState } = lab({ ...nova, metadata: { ...nova.metadata, generation: 1 } });
    await using server = await replicaState.listen({ host: "127.0.0.1", port: 0, tls: undefined });
    const { name, namespace } = nova.metadata;
    const body = JSON.stringify({ sandbox: { uid, name, namespace }, podUid: "p1", generation });
    const answer = await fetch(`http://127.0.0.1:${server.port}${drainPaths.observed}`, { method: "POST", body });
    expect(await answer.json()).toEqual(expected);
  });
});

describe("a replica that has no view of the cluster yet", () => {
  it("obeys a reported suspension, and reports that it listens on no port", async () => {
    const replicaState = new ReplicaState(aReplica());
    await using server = await replicaState.listen({ host: "127.0.0.1", port: 0, tls: undefined });
    const { uid, name, namespace } = nova.metadata;
    const ask = async (path: string, body: object) => {
      const init = { method: "POST", body: JSON.stringify(body) };
      return (await fetch(`http://127.0.0.1:${server.port}${path}`, init)).json();
    };
    const observed = { sandbox: { uid, name, namespace }, podUid: "p1", generation: 2 };
    expect(await ask(drainPaths.observed, observed)).toEqual({ inFlight: 0 });
    expect(replicaState.fences.of(uid).reportedGeneration).toBe(2);
    expect(await ask(drainPaths.listening, { ports: [{ sandboxUid: uid, activatorPort: 10_000 }] })).toEqual({
      ports: [],
    });
  });

  it("answers no plain HTTP where it has certificates, and reports if it can follow those no more", async () => {
    const validity = { notBefore: new Date(0), notAfter: new Date(4e12) };
    const authority = await makeAuthority("rouse-drain", validity);
    const names = { commonName: "activator", dnsNames: ["activator"], ipAddresses: [], validity };
    const own = await makeServerCertificate(authority, names);
    await using directory = await mkdtempDisposable(join(tmpdir(), "drain-certs-"));
    const path = (name: string) => join(directory.path, name);
    const tls = { certificate: path("tls.crt"), key: path("tls.key"), clientAuthority: path("ca.crt") };
    await writeFile(tls.certificate, own.certificate);
    await writeFile(tls.key, own.key);
    await writeFile(tls.clientAuthority, authority.certificate);
    await using server = await new ReplicaState(aReplica()).listen({ host: "127.0.0.1", port: 0, tls });
    await expect(fetch(`http://127.0.0.1:${server.port}${drainPaths.activity}`)).rejects.toThrow();
    expect(server.failed).toBeInstanceOf(Promise);
  });

  it("keeps a bounded number of fences", () => {
    const { fences } = new ReplicaState(aReplica());
    for (let pod = 0; pod < 100; pod += 1) fences.fence(nova.metadata.uid, `p${pod}`);
    expect(fences.of(nova.metadata.uid).fenced.size).toBeLessThan(20);
  });
});
