import { request } from "node:http";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseActivatorConfig } from "../../../activator/config/config.ts";
import { type Activator, startActivator } from "../../../activator/start.ts";
import { type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import { warmPoolSandboxLabel } from "../../../api/rules/keys.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { withLateLists } from "../../support/fakes/late-lists.ts";
import { startTinyKubelet, type TinyKubelet } from "../../support/fakes/tiny-kubelet.ts";
import { type Http2Client, openHttp2Client, valuesOf } from "../../support/http2-client.ts";
import { aSandbox, httpProgram } from "../../support/labs/activator-world.ts";
import { openMemoryApi } from "../../support/memory-api.ts";

type Headers = Readonly<Record<string, string>>;

/** A setting of a sandbox that decides what a request gets. */
interface Setting {
  readonly what: string;
  readonly spec: Partial<SandboxSpec>;
  readonly labels?: Headers;
  /** Whether its Pod starts, and something listens on its port. */
  readonly listens?: boolean;
  readonly headers?: (uid: string) => Headers;
  readonly gets: string;
  /** Where that differs. */
  readonly but?: Readonly<Partial<Record<Front, string>>>;
}

const navigation = { "sec-fetch-mode": "navigate", accept: "text/html" };

const settings: readonly Setting[] = [
  { what: "short", spec: { autoResume: { timeoutSeconds: 2 } }, gets: "WakeTimedOut" },
  {
    ...{ what: "paged", spec: { autoResume: { waitPage: "Browser", timeoutSeconds: 3 } } },
    ...{ headers: () => navigation, gets: "Waking", but: { grpc: "WakeTimedOut" } }, // a call is no navigation
  },
  {
    ...{ what: "pageless", spec: { autoResume: { waitPage: "Never", timeoutSeconds: 3 } } },
    ...{ headers: () => navigation, gets: "WakeTimedOut" },
  },
  {
    ...{ what: "ignoring", gets: "WakeNotAllowed" },
    spec: {
      operatingMode: "Suspended",
      autoSuspension: { inactivityTimeoutSeconds: 600, ignoreRequests: [{ userAgentPrefix: "checker" }] },
    },
    headers: () => ({ "user-agent": "checker/1" }),
  },
  {
    ...{ what: "never-woken", gets: "WakeNotAllowed" },
    spec: { operatingMode: "Suspended", autoResume: { trigger: "Never" } },
  },
  {
    ...{ what: "member", spec: {}, labels: { [warmPoolSandboxLabel]: "pool" }, listens: true },
    headers: (uid) => ({ "x-sandbox-uid": uid }),
    ...{ gets: "200", but: { path: "Unclaimed", host: "Unclaimed" } },
  },
  {
    ...{ what: "remembering", listens: true, gets: "200 anew" },
    spec: { operatingMode: "Suspended", suspensionStrategy: { type: "Hibernate" } },
  },
];

const fronts = ["headers", "path", "host", "http2", "grpc"] as const;
type Front = (typeof fronts)[number];

const rows = settings.flatMap((setting) =>
  fronts
    // The programs here speak no HTTP/2.
    .filter((front) => !(setting.listens && front === "grpc"))
    .map((front) => ({ front, setting, what: setting.what, gets: setting.but?.[front] ?? setting.gets })),
);
type Row = (typeof rows)[number];

/** One sandbox is asked before the first view and the other afterwards: an answer may change its sandbox. */
const times = ["early", "late"] as const;
type Time = (typeof times)[number];
const nameOf = ({ what, front }: Row, time: Time) => `${what}-${front}-${time}`;

interface Asked {
  readonly activator: Activator;
  readonly http2: Http2Client;
}

/** The reason of an error; else the status, and how the sandbox started. */
function said(status: number | undefined, field: (name: string) => unknown): string {
  return String(field("x-rouse-reason") ?? [status, field("x-rouse-started")].filter(Boolean).join(" "));
}

async function overHttp2({ http2 }: Asked, headers: Headers): Promise<string> {
  const { status, fields } = await http2.ask(headers);
  return said(status, (name) => valuesOf(fields, name)[0]);
}

function overHttp1({ activator }: Asked, path: string, headers: Headers): Promise<string> {
  const options = { host: "127.0.0.1", port: activator.proxyPort, agent: false, path, headers };
  return new Promise((resolve) => {
    request(options, (response) => {
      response.resume();
      resolve(said(response.statusCode, (name) => response.headers[name]));
    })
      .on("error", ({ message }) => resolve(message))
      .end();
  });
}

function ask(asked: Asked, front: Front, name: string, headers: Headers): Promise<string> {
  const named = { ...headers, "x-sandbox-id": name };
  switch (front) {
    case "headers":
      return overHttp1(asked, "/", named);
    case "path":
      return overHttp1(asked, `/s/default/${name}/8888/`, headers);
    case "host":
      return overHttp1(asked, "/", { ...headers, host: `8888--${name}--default.sandbox.localhost` });
    case "http2":
      return overHttp2(asked, named);
    case "grpc":
      return overHttp2(asked, {
        ...{ ":method": "POST", te: "trailers", "content-type": "application/grpc" },
        ...{ ...named, "x-sandbox-port": "8888" },
      });
  }
}

const program = httpProgram((_, response) => response.end("here"));

/** Creates both sandboxes of a row, and returns what its requests send. */
async function createFor(row: Row, client: KubeClient, kubelet: TinyKubelet): Promise<Record<Time, Headers>> {
  const { spec, labels = {}, listens = false, headers = () => ({}) } = row.setting;
  const create = async (time: Time) => {
    const name = nameOf(row, time);
    if (listens) kubelet.run(name, program);
    else kubelet.report(name, { phase: "Pending" });
    const sandbox = aSandbox(name, spec);
    const created = await client.create(sandboxType, { ...sandbox, metadata: { ...sandbox.metadata, labels } });
    return headers(String(created.metadata.uid));
  };
  return { early: await create("early"), late: await create("late") };
}

/** Dozens of sandboxes are created on a machine that may be busy. */
const allMadeMs = 60_000;
/** What is not answered by then would be held for the usual 120 s. */
const answeredMs = 30_000;

const flags = [
  ...["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address="],
  ...["--authz-mode=allow-all", "--allow-loopback-pod-ip", "--access-log=false", "--drain-settle=0s"],
  ...["--http2", "--path-routing-prefix=/s"],
];

/** What each row gets before and after the first list of kind `late`. */
async function openLab(late: "Sandbox" | "Pod") {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const kubelet = opened.use(startTinyKubelet(client));
  const sent = await Promise.all(rows.map((row) => createFor(row, client, kubelet)));
  const running = rows.filter(({ setting }) => setting.spec.operatingMode !== "Suspended");
  const names = running.flatMap((row) => times.map((time) => nameOf(row, time)));
  await eventually(() => names.every((name) => kubelet.made(name) > 0), allMadeMs);

  const slow = withLateLists(client, late);
  const registry = new Registry();
  const parts = { client: slow.client, clock: systemClock, log: silentLogger, registry };
  const activator = opened.use(await startActivator(parseActivatorConfig(flags), parts));
  const http2 = opened.use(openHttp2Client(activator.proxyPort));
  const over = new AbortController();
  opened.defer(() => over.abort());
  const answer = (row: Row, time: Time, at: number) => {
    const unanswered = systemClock.sleep(answeredMs, over.signal).then(
      () => "no answer",
      () => "no answer",
    );
    return Promise.race([ask({ activator, http2 }, row.front, nameOf(row, time), sent[at]?.[time] ?? {}), unanswered]);
  };
  const askAll = (time: Time) => Promise.all(rows.map((row, at) => answer(row, time, at)));
  const held = async () => Number(/^rouse_activator_held_requests (\d+)$/m.exec(await registry.metrics())?.[1]);

  const early = askAll("early");
  await eventually(async () => (await held()) === rows.length, answeredMs / 2);
  slow.listed();
  const answers = { early: await early, late: await askAll("late") };
  const closing = opened.move();
  return {
    answerOf: (row: Row, time: Time) => answers[time][rows.indexOf(row)],
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe.each(["Sandbox", "Pod"] as const)("what was held before the first list of kind %s", (kind) => {
  let lab: Awaited<ReturnType<typeof openLab>> | undefined;
  beforeAll(async () => {
    lab = await openLab(kind);
  }, 180_000);
  afterAll(() => lab?.[Symbol.asyncDispose]());

  it.each(rows)("gets by $front of a sandbox that is $what what later requests get: $gets", (row) => {
    expect(times.map((time) => lab?.answerOf(row, time))).toEqual([row.gets, row.gets]);
  });
});
