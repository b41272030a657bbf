import { expect, it } from "vitest";
import { openMemoryApi } from "../../test/support/memory-api.ts";

// Each of these stopped the process for a minute or more while the time grew with the square of the size. With an error in that, the test
// does not end within its limit.

const count = 40_000;
const fewer = 10_000;
const many = <T>(make: (index: number) => T, length = count) => Array.from({ length }, (_, index) => make(index));

async function post(path: string, contentType: string, body: string): Promise<number> {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/${path}`;
  return (await fetch(url, { method: "POST", headers: { "content-type": contentType }, body })).status;
}

it("a ConfigMap with 40,000 keys in YAML is stored", async () => {
  const body = `metadata: {name: yy}\ndata:\n${many((index) => `  k${index}: x\n`).join("")}`;
  expect(await post("configmaps", "application/yaml", body)).toBe(201);
});

it("the last of equal keys counts in YAML, as in JSON", async () => {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/configmaps`;
  const headers = { "content-type": "application/yaml" };
  const response = await fetch(url, { method: "POST", headers, body: "metadata: {name: a}\ndata: {x: one, x: two}\n" });
  expect(await response.json()).toMatchObject({ data: { x: "two" } });
});

it("a Pod with 10,000 volumes, and as many mounts and ports, is checked", async () => {
  const ports = many((index) => ({ containerPort: (index % 65_535) + 1, name: `p${index}` }), fewer);
  const volumeMounts = many((index) => ({ name: `v${index}`, mountPath: `/v${index}` }), fewer);
  const containers = [{ name: "c", image: "x", ports, volumeMounts }];
  const spec = { containers, volumes: many((index) => ({ name: `v${index}`, emptyDir: {} }), fewer) };
  expect(await post("pods", "application/json", JSON.stringify({ metadata: { name: "p" }, spec }))).toBe(201);
});

it("a Service with 10,000 ports is checked", async () => {
  const ports = many((index) => ({ name: `p${index}`, port: index + 1, protocol: "TCP" }), fewer);
  expect(await post("services", "application/json", JSON.stringify({ metadata: { name: "s" }, spec: { ports } }))).toBe(
    201,
  );
});

it("a Pod with 20,000 tolerations is changed", async () => {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/pods`;
  const tolerations = many((index) => ({ key: `k${index}`, operator: "Exists" }), 20_000);
  const body = JSON.stringify({
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "x" }], tolerations },
  });
  await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  const headers = { "content-type": "application/merge-patch+json" };
  const patch = (change: object) => fetch(`${url}/p`, { method: "PATCH", headers, body: JSON.stringify(change) });
  expect((await patch({ metadata: { labels: { a: "b" } } })).status).toBe(200);
  expect((await patch({ spec: { tolerations: tolerations.toReversed().slice(1) } })).status).toBe(422);
});

it("YAML with 500,000 malformed escapes on one line is rejected, and the line is named", async () => {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/configmaps`;
  const body = `metadata: {name: a}\ndata:\n  a: "${"\\z".repeat(500_000)}"\n`;
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/yaml" }, body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    message: expect.stringMatching(/Invalid escape sequence .* at line 3$/),
  });
});

it("an object with 100,000 faults is rejected with the first hundred, and the number of the others", async () => {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/configmaps`;
  const labels = Object.fromEntries(many((index) => [`!${index}`, "a"], 100_000));
  const body = JSON.stringify({ metadata: { name: "a", labels } });
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  const { code, message, details } = JSON.parse(await response.text());
  expect([code, details.causes.length]).toEqual([422, 100]);
  expect(message).toMatch(/, and 99900 more\]$/);
});

it("an object that is being deleted with 40,000 finalizers gets no new one", async () => {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/configmaps`;
  const finalizers = many((index) => `example.com/f${index}`);
  const headers = { "content-type": "application/json" };
  const write = (target: string, method: string, kept: readonly string[]) =>
    fetch(target, { method, headers, body: JSON.stringify({ metadata: { name: "a", finalizers: kept } }) });
  await write(url, "POST", finalizers);
  await fetch(`${url}/a`, { method: "DELETE" });
  expect((await write(`${url}/a`, "PUT", finalizers.toReversed())).status).toBe(200);
  expect((await write(`${url}/a`, "PUT", [...finalizers, "example.com/new"])).status).toBe(422);
});
