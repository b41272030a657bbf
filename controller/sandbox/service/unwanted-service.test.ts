import { it } from "vitest";
import { serviceType } from "../../../api/kinds/core.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openSandboxLab } from "../../../test/support/labs/sandbox-lab.ts";

it("a Service is deleted when its Sandbox no longer wants one", async () => {
  await using lab = await openSandboxLab();
  await lab.create({ service: true });
  await eventually(async () => (await lab.find(serviceType)) !== undefined);
  await lab.change({ service: false });
  await eventually(async () => (await lab.find(serviceType)) === undefined);
});
