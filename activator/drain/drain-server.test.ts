import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { drainPaths, type ListeningPort, listeningPortsLimit } from "../../api/between-programs/drain-protocol.ts";
import { startCertificateFiles } from "../../lib/certificates/certificate-files.ts";
import { CurrentCertificate, type ServerCertificate } from "../../lib/certificates/certificate-source.ts";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { Activity } from "../activity/activity.ts";
import { PodFences } from "../activity/pod-fences.ts";
import { DrainHandlers } from "./drain-handlers.ts";
import { type DrainServerOptions, startDrainServer } from "./drain-server.ts";

const sandbox = { namespace: "lab", name: "nova", uid: "u1" };

async function openServer(changed: Partial<DrainServerOptions> = {}) {
  const calls: string[] = [];
  const fences = new PodFences({ onFenced: () => {}, hasPod: () => false });
  const listening = async ({ ports }: { readonly ports: readonly ListeningPort[] }) => ({ ports: ports.slice(0, 1) });
  const busy = async () => ({ asked: true, status: 503 }) as const;
  const replicaState = { activity: new Activity(systemClock), fences, closeOpen: () => {}, settle: () => {} };
  const handlers = new DrainHandlers({ ...replicaState, seenGeneration: () => 0, listening, busy });
  const server = await startDrainServer({
    address: { host: "127.0.0.1", port: 0 },
    certificates: undefined,
    onCall: (call, status) => calls.push(`${call} ${status}`),
    ...{ handlers, ...changed },
  });
  return { ...server, port: server.port, fences, calls };
}

describe("the drain listener", () => {
  it("answers every request of the protocol", async () => {
    await using server = await openServer();
    const ask = async (path: string, body: object) => {
      const init = { method: "POST", body: JSON.stringify(body) };
      return (await fetch(`http://127.0.0.1:${server.port}${path}`, init)).json();
    };
    expect(await ask(drainPaths.observed, { sandbox, podUid: "p1", generation: 2 })).toEqual({ inFlight: 0 });
    expect(await ask(drainPaths.promise, { sandbox, podUid: "p1" })).toEqual({ inFlight: 0 });
    expect(await ask(drainPaths.activity, {})).toMatchObject({ full: true, activities: [] });
    const ports = Array.from({ length: listeningPortsLimit }, (_, at) => ({
      sandboxUid: "0".repeat(36),
      activatorPort: 10_000 + at,
    }));
    expect(await ask(drainPaths.listening, { ports })).toEqual({ ports: ports.slice(0, 1) });
    const about = { sandbox, podUid: "p1", generation: 2 };
    expect(await ask(drainPaths.busy, about)).toEqual({ asked: true, status: 503 });
    expect(server.fences.of("u1")).toMatchObject({ reportedGeneration: 2 });
    expect(server.calls).toEqual(["observed 200", "promise 200", "activity 200", "listening 200", "busy 200"]);
  });

  it("refuses a body of more than 16,384 bytes, and accepts one of as many", async () => {
    await using server = await openServer();
    const question = JSON.stringify({ sandbox, podUid: "p1" });
    for (const [length, status] of [
      [16_384, 200],
      [16_385, 400],
    ] as const) {
      const init = { method: "POST", body: question.padEnd(length) };
      expect((await fetch(`http://127.0.0.1:${server.port}${drainPaths.promise}`, init)).status).toBe(status);
    }
  });

  it("is closed once its server is disposed of", async () => {
    const server = await openServer();
    const ask = () => fetch(`http://127.0.0.1:${server.port}/`);
    expect((await ask()).status).toBe(404);
    await server[Symbol.asyncDispose]();
    await expect(ask()).rejects.toThrow("fetch failed");
  });

  it.each([
    { what: "no question", path: drainPaths.promise, init: { method: "POST", body: "{}" }, status: 400 },
    { what: "no JSON", path: drainPaths.promise, init: { method: "POST", body: "{" }, status: 400 },
    {
      what: "a body beyond all bounds",
      path: drainPaths.activity,
      init: { method: "POST", body: " ".repeat(20_000) },
      status: 400,
    },
    { what: "a GET", path: drainPaths.activity, init: { method: "GET" }, status: 405 },
    { what: "another path", path: "/healthz", init: { method: "GET" }, status: 404 },
  ])("refuses $what with $status", async ({ path, init, status }) => {
    await using server = await openServer();
    expect((await fetch(`http://127.0.0.1:${server.port}${path}`, init)).status).toBe(status);
  });
});

const validity = { notBefore: new Date("2020-01-01T00:00:00Z"), notAfter: new Date("2090-01-01T00:00:00Z") };

async function certificates() {
  const authority = await makeAuthority("rouse-drain", validity);
  const names = { commonName: "activator", dnsNames: ["activator"], ipAddresses: ["127.0.0.1"], validity };
  const own = await makeServerCertificate(authority, names);
  const caller = await makeClientCertificate(authority, { commonName: "controller", organizations: [], validity });
  const tls = { ...own, clientAuthority: authority.certificate };
  return { authority, own, caller, tls };
}

interface Caller {
  readonly certificate?: string;
  readonly key?: string;
}

/** The status of a question; rejects where there is no connection. */
function askOver(port: number, ca: string, { certificate, key }: Caller): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({
      ca,
      servername: "activator",
      ...(certificate && { cert: certificate }),
      ...(key && { key }),
    });
    const options = { host: "127.0.0.1", port, path: drainPaths.activity, method: "POST", agent };
    const asked = request(options, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    asked.on("error", reject).end("{}");
    asked.on("close", () => agent.destroy());
  });
}

describe("the drain listener with certificates", () => {
  it("answers the controller alone", async () => {
    const { authority, own, caller, tls } = await certificates();
    await using server = await openServer({ certificates: new CurrentCertificate(tls) });
    const stranger = await certificates();
    const ask = (who: Caller) => askOver(server.port, authority.certificate, who);
    expect(await ask(caller)).toBe(200);
    await expect(ask({})).rejects.toThrow();
    await expect(ask(stranger.caller)).rejects.toThrow();
    // Other activators have certificates of the same authority, which are good for being asked alone.
    await expect(ask(own)).rejects.toThrow();
    expect(server.calls).toEqual(["activity 200"]);
  });

  it("loads renewed certificates within a minute, and keeps the old ones if that fails", async () => {
    const former = await certificates();
    const next = await certificates();
    await using directory = await mkdtempDisposable(join(tmpdir(), "drain-certs-"));
    const path = (name: string) => join(directory.path, name);
    const files = { certificate: path("tls.crt"), key: path("tls.key"), clientAuthority: path("ca.crt") };
    const write = async ({ certificate, key, clientAuthority }: ServerCertificate) => {
      await writeFile(files.key, key);
      await writeFile(files.certificate, certificate);
      await writeFile(files.clientAuthority, clientAuthority ?? "");
    };
    await write(former.tls);
    const clock = new FakeClock();
    const options = { server: "the drain listener", clock, log: silentLogger };
    await using shown = await startCertificateFiles(files, options);
    await using server = await openServer({ certificates: shown });
    await write({ ...next.tls, key: "half written" });
    await clock.advance(60_000);
    await eventually(() => clock.pending === 1); // it has checked
    expect(await askOver(server.port, former.authority.certificate, former.caller)).toBe(200);
    await write(next.tls);
    await clock.advance(60_000);
    await eventually(() => shown.current().certificate === next.tls.certificate);
    expect(await askOver(server.port, next.authority.certificate, next.caller)).toBe(200);
    await expect(askOver(server.port, former.authority.certificate, former.caller)).rejects.toThrow();
  });
});
