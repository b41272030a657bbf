// `npm run bench:wake`: 200 wakes one at a time, then 50 sandboxes at once, against local mode on this machine. With
// `-- --by=name` the client connects to the address of each sandbox's Service, which is raw TCP for the activator. With `-- --by=grpc`
// calls of gRPC and requests of HTTP/1.1 take turns.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import type { WakeTimeline } from "../../api/between-programs/wake-timeline.ts";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { readExample } from "../../local/examples.ts";
import { defaultCacheDirectory, findOrBuild } from "../../scripts/tools/build-tool.ts";
import { type Spread, spreadOf, spreadTable } from "../statistics.ts";
import { addressByName } from "./by-name.ts";
import { measureByProtocol } from "./by-protocol.ts";
import { startLocalProcess } from "./local-process.ts";
import { measureWake, putToSleep } from "./our-client.ts";
import { measureWithK6, type Scenario, scenarios, type WakeTarget } from "./with-k6.ts";

const say = (line: string) => process.stdout.write(`${line}\n`);

const crowdNames = Array.from({ length: 50 }, (_, at) => `crowd-${at}`);

const { values } = parseArgs({ options: { by: { type: "string", default: "host" } } });
const byName = values.by === "name";
const byProtocol = values.by === "grpc";

const k6 =
  byName || byProtocol
    ? undefined
    : await findOrBuild("k6", {
        cacheDirectory: defaultCacheDirectory(process.env),
        environment: process.env,
        say,
      });
say(
  k6
    ? "The client is k6.\n"
    : "The client is our own: k6 knows one address, or there is no Go here to build it with.\n",
);

await using local = await startLocalProcess();
const { server, token, ca } = readKubeconfig(local.kubeconfig);
await using client = createKubeClient(connectionFor({ server, token, ca }), { userAgent: "rouse-bench" });
if (byProtocol) say(spreadTable(await measureByProtocol(client, local, 100)));
else await createCrowd(client);
const addresses = new Map<string, string>();
if (byName) for (const name of ["hello", ...crowdNames]) addresses.set(name, await addressByName(client, name));
const at = (name: string) => ({ ...local, activator: addresses.get(name) ?? local.activator });
const target: WakeTarget = { ...local, api: server, apiToken: token, activatorToken: "", namespace: "default" };

for (const scenario of byProtocol ? [] : scenarios) {
  const before = local.wakes.length;
  const tax = k6 ? await measureWithK6(k6, scenario, target) : await measureOurselves(scenario);
  say(`### ${scenario.count} wakes, ${scenario.title}\n`);
  say(spreadTable([["wake tax", tax], ...partsOf(local.wakes.slice(before))]));
}

/** The steps of a wake as the activator measured them; the start of the Pod is not part of the tax. */
function partsOf(wakes: readonly WakeTimeline[]): readonly (readonly [string, Spread])[] {
  const between = (from: keyof WakeTimeline, to: keyof WakeTimeline) =>
    spreadOf(wakes.map((wake) => (wake[to] ?? Number.NaN) - (wake[from] ?? Number.NaN)).filter(Number.isFinite));
  return [
    ["connection seen to wake patched", between("seen", "wakePatched")],
    ["wake patched to Pod created", between("wakePatched", "podCreated")],
    ["Pod created to port accepts", between("podCreated", "portAccepted")],
    ["port accepts to first byte", between("portAccepted", "firstByte")],
  ];
}

async function measureOurselves({ name, count }: Scenario): Promise<Spread> {
  const taxes: number[] = [];
  if (name === "together") {
    await Promise.all(crowdNames.map((crowd) => putToSleep(client, { namespace: "default", name: crowd })));
    taxes.push(...(await Promise.all(crowdNames.map((crowd) => measureWake(at(crowd), crowd)))));
  } else {
    for (let round = 0; round < count; round += 1) {
      await putToSleep(client, { namespace: "default", name: "hello" });
      taxes.push(await measureWake(at("hello"), "hello"));
    }
  }
  return spreadOf(taxes);
}

/** Fifty sandboxes like `hello`, each with its own volume. */
async function createCrowd(kube: KubeClient): Promise<void> {
  const example = readExample(join(import.meta.dirname, "..", "..", "examples", "hello"));
  const hello = example.find(({ kind }) => kind === "Sandbox") as Sandbox;
  for (const name of crowdNames) {
    await kube.create(sandboxType, { ...hello, metadata: { name, namespace: "default" } });
  }
}

function readKubeconfig(path: string): { readonly server: string; readonly token: string; readonly ca: string } {
  const { clusters, users } = parse(readFileSync(path, "utf8"));
  const { cluster } = clusters[0];
  const ca = Buffer.from(cluster["certificate-authority-data"], "base64").toString();
  return { server: cluster.server, token: users[0].user.token, ca };
}
