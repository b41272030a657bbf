import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { type PodTemplate, type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import { canonicalJson } from "../../controller/blueprint/canonical-json.ts";
import { currentBlueprint } from "../../controller/blueprint/current-blueprint.ts";
import { runsTheSame } from "../../controller/blueprint/staleness.ts";
import { objectPatch } from "../../controller/merge-patch.ts";
import { decidePod } from "../../controller/sandbox/decide-pod.ts";
import { makePod } from "../../controller/sandbox/make-pod.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { LongInteger, longIntegersMax, parseWithLongIntegers } from "../../lib/data/exact-json.ts";
import { aSandbox } from "../support/builders/builders.ts";
import { aTemplate } from "../support/builders/extension-builders.ts";
import { anObservation } from "../support/builders/observed.ts";

const largest = "9223372036854775807";
const mark = "in-place-of-the-largest-int64";
const spec = {
  containers: [{ name: "main", image: "i", ports: [{ containerPort: 80 }] }],
  tolerations: [{ key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: mark }],
};

/** An API server with one sandbox, whose Pod has a toleration with the largest int64. It records all writes. */
async function openServer(sandbox: Stored<Sandbox>) {
  const written: string[] = [];
  const text = JSON.stringify(sandbox).replace(`"${mark}"`, largest);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method === "POST") written.push(Buffer.concat(chunks).toString());
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://server");
    const list = `{"metadata":{"resourceVersion":"1"},"items":[${text}]}`;
    const answer = pathname.endsWith("/sandboxes") ? list : text;
    response.end(searchParams.get("watch") ? `{"type":"ADDED","object":${text}}\n` : answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createKubeClient(connectionFor({ server: url }), { userAgent: "rouse-test" });
  return {
    client,
    written,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const never = new AbortController().signal;
const { namespace = "", name } = aSandbox().metadata;

it("a Pod gets the largest int64 of its sandbox, from a list, a watch or a get", async () => {
  await using api = await openServer(aSandbox(JSON.parse(JSON.stringify({ podTemplate: { spec } }))));
  const { client, written } = api;
  const got = await client.get(sandboxType, { namespace, name });
  const [listed] = (await client.list(sandboxType)).items;
  const { value: event } = await client
    .watch(sandboxType, { resourceVersion: "1" }, never)
    [Symbol.asyncIterator]()
    .next();
  for (const sandbox of [got, listed, event?.object]) await client.create(podType, makePod(sandbox as Stored<Sandbox>));
  expect(written).toHaveLength(3);
  for (const pod of written) expect(pod).toContain(`"tolerationSeconds":${largest}`);
});

it("two Pods are equal only if their int64 values are exactly equal", () => {
  const blueprintWith = (digits: string) => {
    const podTemplate = parseWithLongIntegers(JSON.stringify({ spec }).replace(`"${mark}"`, digits));
    return currentBlueprint(aTemplate({ podTemplate: podTemplate as PodTemplate }));
  };
  const [one, same, other] = [largest, largest, "9223372036854775806"].map(blueprintWith);
  if (!one || !same || !other) throw new Error("three blueprints were to be made");
  expect(same.blueprintHash).toBe(one.blueprintHash);
  expect(other.blueprintHash).not.toBe(one.blueprintHash);
  const made = { ...aSandbox().spec, podTemplate: { spec: one.podSpec } };
  expect(runsTheSame(made, same)).toBe(true);
  expect(runsTheSame(made, other)).toBe(false);
  expect(objectPatch({ ...one.podSpec }, { ...same.podSpec })).toBeUndefined();
  const seconds = (digits: string) => ({ seconds: new LongInteger(digits) });
  expect(objectPatch(seconds(largest), seconds("9223372036854775806"))).toStrictEqual(seconds("9223372036854775806"));
  expect(canonicalJson(seconds(largest))).toBe(`{"seconds":${largest}}`);
});

it.each([
  { count: longIntegersMax, made: ["createPod"] },
  { count: longIntegersMax + 1, made: ["refuse"] },
])("a sandbox with $count long integers has $made for its Pod", ({ count, made }) => {
  const tolerations = Array.from({ length: count }, () => spec.tolerations[0]);
  const text = JSON.stringify(
    aSandbox(JSON.parse(JSON.stringify({ podTemplate: { spec: { ...spec, tolerations } } }))),
  );
  const sandbox = parseWithLongIntegers(text.replaceAll(`"${mark}"`, largest)) as Stored<Sandbox>;
  const { actions } = decidePod(anObservation({ sandbox }));
  const pod = actions.filter((action) => action.do !== "recordPodName");
  expect(pod.map((action) => action.do)).toEqual(made);
  for (const action of pod) if (action.do === "refuse") expect(action.untilChanged).toBe(true);
});
