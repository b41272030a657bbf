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
