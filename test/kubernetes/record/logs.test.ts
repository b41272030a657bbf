import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { secretType } from "../../../api/kinds/core.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { clusterLayout } from "../e2e/support/components.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { keptLogsOf } from "../support/keep-logs.ts";

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The patterns of secret values. */
const looks: Readonly<Record<string, RegExp>> = {
  "a private key": /PRIVATE KEY/,
  "PEM in base64, as Secrets have it": /LS0tLS1CRUdJTi/,
  "the token of a ServiceAccount": /eyJhbGciOi/,
  "a bearer token": /bearer [\w.~+/-]{8,}/i,
};

describe("the logs of both programs, of every replica since the start of the tests", () => {
  const logs = () => {
    const folder = keptLogsOf(clusterLayout());
    return readdirSync(folder).map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));
  };

  it("are from both programs", () => {
    const files = logs().map(({ file }) => file);
    for (const program of ["agent-sandbox-controller", "sandbox-router"]) {
      expect(files.filter((file) => file.includes(program)).length).toBeGreaterThan(1);
    }
  });

  it.each(Object.entries(looks))("contain nothing in the form of %s", (_, look) => {
    expect(
      logs()
        .filter(({ text }) => look.test(text))
        .map(({ file, text }) => `${file}: ${look.exec(text)}`),
    ).toEqual([]);
  });

  it("contain no value of the release's Secrets", async () => {
    const { items } = await cluster.client.list(secretType, { namespace: release.namespace });
    const ours = items.filter(({ type }) => type === "Opaque");
    expect(ours.length).toBeGreaterThan(1);
    const all = logs();
    for (const { data = {} } of ours) {
      for (const [key, value] of Object.entries(data).filter(([name]) => name !== "ca.crt" && name !== "tls.crt")) {
        const plain = Buffer.from(value, "base64").toString();
        const leaking = all.filter(({ text }) => text.includes(value) || text.includes(plain));
        expect({ key, in: leaking.map(({ file }) => file) }).toEqual({ key, in: [] });
      }
    }
  });
});
