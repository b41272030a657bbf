import { expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { findCondition } from "../../api/rules/conditions.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { jumpNoticedWithinMs } from "../../lib/time/clock-jumps.ts";
import { aSandbox } from "../support/builders/builders.ts";
import { eventually } from "../support/eventually.ts";
import { openClaimLab } from "../support/labs/claim-lab.ts";

const hourMs = 3_600_000;

it("a machine that was suspended over deadlines acts on all of them within seconds of its return", async () => {
  await using lab = await openClaimLab({ kubelet: false });
  const clock = new FakeClock(systemClock.now());
  await using _controller = await lab.startController({ clock });
  const inThreeHours = new Date(clock.now().getTime() + 3 * hourMs).toISOString();
  const { spec } = aSandbox({ shutdownTime: inThreeHours });
  await lab.client.create(sandboxType, { metadata: { namespace: "default", name: "nova" }, spec });
  await lab.template();
  await lab.pool(0);
  await lab.claim("timed", { lifecycle: { shutdownTime: inThreeHours } });
  await lab.claim("finished", {
    lifecycle: { ttlSecondsAfterFinished: (3 * hourMs) / 1_000, shutdownPolicy: "Delete" },
  });
  const reasonOf = async (name: string) =>
    findCondition((await lab.get(sandboxType, name))?.status?.conditions, "Ready")?.reason;
  const conditionOf = async (name: string, type: string) =>
    findCondition((await lab.get(sandboxClaimType, name))?.status?.conditions, type);
  const until = (reached: () => Promise<unknown>) =>
    eventually(async () => {
      await clock.advance(100);
      return reached();
    });
  await until(async () => (await reasonOf("nova")) && (await lab.get(podType, "finished")));
  await lab.patch(podType, "finished", { status: { phase: "Succeeded" } }, "status");
  await until(async () => (await conditionOf("finished", "Finished"))?.status === "True");
  expect(await reasonOf("nova")).not.toBe("SandboxExpired");

  clock.jumpWall(4 * hourMs);
  await clock.advance(jumpNoticedWithinMs);
  await until(async () => (await reasonOf("nova")) === "SandboxExpired");
  await until(async () => (await conditionOf("timed", "Ready"))?.reason === "ClaimExpired");
  await until(async () => (await lab.get(sandboxClaimType, "finished")) === undefined);
}, 30_000);
