import { expect, it } from "vitest";
import { openMemoryApi } from "../../test/support/memory-api.ts";

const headers = { "content-type": "application/json" };

/** Creates a ConfigMap with these unknown fields. */
async function createWith(unknown: object) {
  await using api = await openMemoryApi();
  const url = `${api.url}/api/v1/namespaces/default/configmaps`;
  const body = JSON.stringify({ metadata: { name: "a" }, ...unknown });
  const { status, headers: given } = await fetch(url, { method: "POST", headers, body });
  const warnings = Buffer.from(given.get("warning") ?? "", "latin1").toString();
  return { status, warnings, isThere: (await fetch(`${url}/a`)).status === 200 };
}

it.each(["naïve日", "line\nbreak", "\u007f\u0085", 'quote"\\', "\ud800"])(
  "a write with the unknown field %j is answered with a warning",
  async (name) => {
    const { status, warnings } = await createWith({ [name]: 1 });
    expect(status).toBe(201);
    expect(warnings).toMatch(/^299 - "unknown field .*"$/);
  },
);

it("a warning has the name of the field in UTF-8", async () => {
  expect((await createWith({ naïve日: 1 })).warnings).toBe('299 - "unknown field \\"naïve日\\""');
});

it("a write with two thousand unknown fields is answered with as many warnings as have 4,096 characters", async () => {
  const unknown = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`unknown${index}`, 1]));
  const { status, warnings } = await createWith(unknown);
  expect(status).toBe(201);
  const texts = warnings.match(/unknown field \\"unknown\d+\\"/g) ?? [];
  expect(texts.length).toBeGreaterThan(100);
  expect(texts.length).toBeLessThan(200);
});

it("a write with an unknown field of 10,000 characters is answered with the first 256 of its warning", async () => {
  const { status, warnings } = await createWith({ ["x".repeat(10_000)]: 1 });
  expect(status).toBe(201);
  expect(warnings).toHaveLength('299 - ""'.length + 256 + 1);
});
