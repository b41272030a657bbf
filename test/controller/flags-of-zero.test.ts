import { expect, it } from "vitest";
import { parseControllerConfig } from "../../controller/config/config.ts";
import { controllerFlags } from "../../controller/config/controller-flags.ts";
import { openExtensionsLab } from "../support/labs/extensions-lab.ts";

const isAccepted = (flag: string): boolean => {
  try {
    parseControllerConfig([flag]);
    return true;
  } catch {
    return false;
  }
};

/** The flags that may be 0. */
const zeros = Object.entries(controllerFlags).flatMap(([name, { kind }]) => {
  if (kind === "string" || kind === "boolean") return [];
  const flag = `--${name}=${kind === "duration" ? "0s" : "0"}`;
  return isAccepted(flag) ? [flag] : [];
});

it.each(zeros)("a controller with one flag of 0 runs a sandbox and fills a pool: %s", async (flag) => {
  await using lab = await openExtensionsLab({ flags: [flag] });
  await lab.createTemplate();
  await lab.createPool({ replicas: 2 });
  await lab.create();
  await lab.untilCondition("Ready", { status: "True" });
  await lab.untilPool({ readyReplicas: 2 });
});

it("a controller accepts 0 where it means none or no limit", () => {
  expect(zeros).toEqual(expect.arrayContaining(["--kube-api-qps=0", "--activator-silence-limit=0s"]));
});
