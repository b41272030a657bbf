import { describe, expect, it } from "vitest";
import { aScript, idle, openLocalNode, readPodLog } from "../../../test/support/labs/local-node.ts";

describe("the logs of a Pod", () => {
  it("are those of the previous run, if requested", async () => {
    await using node = await openLocalNode();
    const workingDir = "/data";
    const script = `
      const fs = require("fs");
      const again = fs.existsSync("mark");
      console.log(again ? "second" : "first");
      if (!again) { fs.writeFileSync("mark", ""); process.exit(1); }
      ${idle}`;
    const container = aScript(script, { workingDir, volumeMounts: [{ name: "data", mountPath: workingDir }] });
    await node.createPod("nova", { volumes: [{ name: "data", emptyDir: {} }], containers: [container] });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, state: { running: {} } }),
    );
    await expect.poll(() => readPodLog(node, pod)).toBe("second\n");
    expect(await readPodLog(node, pod, { previous: true })).toBe("first\n");
  });

  it("are rejected while there are no logs", async () => {
    await using node = await openLocalNode();
    const container = aScript(idle, { envFrom: [{ configMapRef: { name: "late" } }] });
    await node.createPod("nova", { containers: [container] });
    const pod = await node.podOnce("nova", ({ status }) =>
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("CreateContainerConfigError"),
    );
    await expect(readPodLog(node, pod)).rejects.toThrow(
      'container "main" in pod "nova" is waiting to start: CreateContainerConfigError',
    );
    await expect(readPodLog(node, pod, { previous: true })).rejects.toThrow("previous terminated container");
  });

  it("are still there after the runtime was restarted", async () => {
    await using node = await openLocalNode();
    await node.createPod("nova", { restartPolicy: "Never", containers: [aScript('console.log("done")')] });
    const pod = await node.podOnce("nova", ({ status }) => expect(status?.phase).toBe("Succeeded"));
    await node.restart();
    expect(await readPodLog(node, pod)).toBe("done\n");
  });
});
