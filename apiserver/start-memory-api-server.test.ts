import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { configMapType, eventType, namespaceType, podType, serviceType } from "../api/kinds/core.ts";
import { FakeClock } from "../lib/time/clock.ts";
import { openMemoryApi } from "../test/support/memory-api.ts";
import { waiting } from "../test/support/waiting.ts";
import { PodLogRefused, type PodLogSource } from "./pod-log-source.ts";

const metadata = { name: "a", namespace: "default" };
const configMaps = "/api/v1/namespaces/default/configmaps";

const temporaryDir = (): { readonly path: string } & Disposable => {
  const path = mkdtempSync(join(tmpdir(), "rouse-api-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** The head of the response to a request with exactly these lines. */
async function ask(port: number, lines: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(`${lines.join("\r\n")}\r\n\r\n`);
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

describe("the API server in memory", () => {
  it("has the namespaces of an installation", async () => {
    await using api = await openMemoryApi();
    const { items } = await api.client.list(namespaceType);
    expect(items.map((item) => item.metadata.name)).toEqual(["agent-sandbox-system", "default", "kube-system"]);
    const refused = await fetch(`${api.url}/api/v1/namespaces/default`, { method: "DELETE" });
    expect(await refused.json()).toMatchObject({
      code: 403,
      message: 'namespaces "default" is forbidden: this namespace may not be deleted',
    });
  });

  it("deletes no collection of namespaces, and announces no such verb", async () => {
    await using api = await openMemoryApi();
    const refused = await fetch(`${api.url}/api/v1/namespaces`, { method: "DELETE" });
    const { resources } = JSON.parse(await (await fetch(`${api.url}/api/v1`)).text());
    const verbsOf = (plural: string) => resources.find(({ name }: { name: string }) => name === plural).verbs;
    expect(refused.status).toBe(405);
    expect((await api.client.list(namespaceType)).items).toHaveLength(3);
    expect(verbsOf("namespaces")).not.toContain("deletecollection");
    expect(verbsOf("pods")).toContain("deletecollection");
  });

  it("accepts only clients with the token, under a loopback name", async () => {
    await using api = await openMemoryApi({ token: "s3cret" });
    expect((await fetch(api.url + configMaps)).status).toBe(401);
    expect((await api.client.list(configMapType)).items).toEqual([]);
    const host = "Host: rebound.example";
    const rebound = await ask(api.server.port, [
      `GET ${configMaps} HTTP/1.1`,
      host,
      "Authorization: Bearer s3cret",
      "Connection: close",
    ]);
    expect(rebound).toMatch(/^HTTP\/1.1 403 /);
  });

  it("describes itself", async () => {
    await using api = await openMemoryApi();
    for (const path of ["/healthz", "/livez", "/readyz"]) expect(await (await fetch(api.url + path)).text()).toBe("ok");
    for (const path of ["/version", "/api", "/apis", "/api/v1", "/apis/agents.x-k8s.io/v1beta1", "/openapi/v3"]) {
      expect((await fetch(api.url + path)).status).toBe(200);
    }
  });

  it("finds everything again after a restart, at a version that has not gone back", async () => {
    using dir = temporaryDir();
    let version = "";
    {
      await using api = await openMemoryApi({ dataDir: dir.path });
      version = (await api.client.create(configMapType, { metadata, data: { color: "blue" } })).metadata
        .resourceVersion;
    }
    await using api = await openMemoryApi({ dataDir: dir.path });
    const found = await api.client.get(configMapType, metadata);
    expect(found).toMatchObject({ data: { color: "blue" }, metadata: { resourceVersion: version } });
    const changed = await api.client.patch(configMapType, metadata, {
      type: "merge",
      body: { data: { color: "red" } },
    });
    expect(Number(changed.metadata.resourceVersion)).toBeGreaterThan(Number(version));
  });

  it("gives the address of a Service to no other after a restart", async () => {
    using dir = temporaryDir();
    const web = { namespace: "default", name: "web" };
    const spec = { ports: [{ port: 80 }] };
    let clusterIP = "";
    {
      await using api = await openMemoryApi({ dataDir: dir.path });
      clusterIP = (await api.client.create(serviceType, { metadata: web, spec })).spec?.clusterIP ?? "";
    }
    await using api = await openMemoryApi({ dataDir: dir.path });
    const other = { ...web, name: "other" };
    const asking = api.client.create(serviceType, { metadata: other, spec: { ...spec, clusterIP } });
    await expect(asking).rejects.toThrow("provided IP is already allocated");
    expect((await api.client.create(serviceType, { metadata: other, spec })).spec?.clusterIP).not.toBe(clusterIP);
  });

  it("completes deletions after a restart", async () => {
    using dir = temporaryDir();
    {
      await using api = await openMemoryApi({ dataDir: dir.path });
      await api.client.create(namespaceType, { metadata: { name: "lab" } });
      const finalizers = ["rouse.dev/wait"];
      await api.client.create(configMapType, { metadata: { name: "a", namespace: "lab", finalizers } });
      await api.client.delete(namespaceType, { name: "lab" });
    }
    await using api = await openMemoryApi({ dataDir: dir.path });
    const body = { metadata: { finalizers: null } };
    await api.client.patch(configMapType, { name: "a", namespace: "lab" }, { type: "merge", body });
    await vi.waitFor(async () => {
      const { items } = await api.client.list(namespaceType);
      expect(items.map((item) => item.metadata.name)).not.toContain("lab");
    }, waiting);
  });

  it("answers a watch from before its start with 410", async () => {
    using dir = temporaryDir();
    {
      await using api = await openMemoryApi({ dataDir: dir.path });
      for (const name of ["a", "b"]) await api.client.create(configMapType, { metadata: { ...metadata, name } });
    }
    await using api = await openMemoryApi({ dataDir: dir.path });
    const stop = new AbortController();
    const events = api.client.watch(configMapType, { resourceVersion: "2" }, stop.signal);
    const received = [];
    for await (const event of events) received.push(event);
    expect(received).toMatchObject([{ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } }]);
  });

  it("ends a watch after its time, with bookmarks on the way", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi({ clock });
    const { resourceVersion } = (await api.client.list(configMapType)).metadata;
    const response = await fetch(
      `${api.url}${configMaps}?watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=90&allowWatchBookmarks=true`,
    );
    await clock.advance(60_000);
    await clock.advance(30_000);
    const lines = (await response.text()).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(["BOOKMARK", "BOOKMARK"]);
  });

  it("ends a watch whose client does not read", async () => {
    // The time in which the client may read the error stands still: on a busy machine the writes take longer.
    await using api = await openMemoryApi({ clock: new FakeClock() });
    const { resourceVersion } = (await api.client.create(configMapType, { metadata })).metadata;
    const socket = connect(api.server.port, "127.0.0.1");
    const host = `Host: 127.0.0.1:${api.server.port}`;
    socket.write(`GET ${configMaps}?watch=true&resourceVersion=${resourceVersion} HTTP/1.0\r\n${host}\r\n\r\n`);
    await new Promise((resolve) => socket.once("readable", resolve));
    const text = "x".repeat(500_000);
    for (let turn = 0; turn < 40; turn += 1) {
      await api.client.patch(configMapType, metadata, { type: "merge", body: { data: { text: turn + text } } });
    }
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    expect(answer).toContain('"code":410');
    expect(answer.length).toBeLessThan(40 * text.length);
  });

  it("forgets events after an hour", async () => {
    const clock = new FakeClock();
    await using api = await openMemoryApi({ clock });
    const event = {
      metadata,
      regarding: { kind: "Pod", namespace: "default", name: "p" },
      reason: "Tested",
      type: "Normal" as const,
      action: "Test",
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "rouse.dev/test",
      reportingInstance: "one",
    };
    await api.client.create(eventType, event);
    await clock.advance(59 * 60_000);
    expect((await api.client.list(eventType)).items).toHaveLength(1);
    await clock.advance(2 * 60_000);
    expect((await api.client.list(eventType)).items).toHaveLength(0);
  });
});

describe("the logs of a Pod", () => {
  const pod = {
    metadata: { name: "p", namespace: "default" },
    spec: { containers: [{ name: "main", image: "busybox" }] },
  };
  const log = "/api/v1/namespaces/default/pods/p/log";

  const source: PodLogSource = {
    async *read({ container, tailLines }) {
      if (tailLines === 0) throw new PodLogRefused(`container "${container}" in pod "p" is waiting to start`);
      yield `${container}: one\n`;
      yield "two\n";
    },
  };

  it("come from their source", async () => {
    await using api = await openMemoryApi({ podLogs: source });
    await api.client.create(podType, pod);
    expect(await (await fetch(api.url + log)).text()).toBe("main: one\ntwo\n");
  });

  it.each([
    ["?container=nobody", 400, "container nobody is not valid for pod p"],
    ["?tailLines=0", 400, 'container "main" in pod "p" is waiting to start'],
    ["?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 400, "at most one of"],
  ])("are refused for %s", async (query, code, message) => {
    await using api = await openMemoryApi({ podLogs: source });
    await api.client.create(podType, pod);
    const response = await fetch(api.url + log + query);
    expect(response.status).toBe(code);
    expect(await response.json()).toMatchObject({ message: expect.stringContaining(message) });
  });

  it("may be asked for since a time before all times", async () => {
    await using api = await openMemoryApi({ podLogs: source });
    await api.client.create(podType, pod);
    const response = await fetch(`${api.url}${log}?sinceSeconds=99999999999999999`);
    expect(await response.text()).toBe("main: one\ntwo\n");
  });

  it("are not to be had without a source", async () => {
    await using api = await openMemoryApi();
    await api.client.create(podType, pod);
    expect((await fetch(api.url + log)).status).toBe(501);
  });
});
