import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKubectl } from "../../cluster/kubectl.ts";
import { release } from "../../cluster/release/install-chart.ts";
import { ChildProgram } from "../../test/programs/child-program.ts";
import type { ObservedController } from "./parts/claims.ts";
import type { World } from "./world.ts";

const [metricsPort, healthPort] = [19_121, 19_122];
const deployments = ["deployment/agent-sandbox-controller", "deployment/sandbox-router"] as const;
const replicas = 2;
const user = "sole-controller";

/** Scales both programs of the chart to zero. Disposing of the result scales them up again. */
export async function stopInstalledPrograms({ kubectl }: World): Promise<AsyncDisposable> {
  const inNamespace = `--namespace=${release.namespace}`;
  await kubectl.run(["scale", inNamespace, ...deployments, "--replicas=0"]);
  await kubectl.run(["wait", inNamespace, "--for=delete", "pod", "--selector=app", "--timeout=120s"]);
  return {
    async [Symbol.asyncDispose]() {
      await kubectl.run(["scale", inNamespace, ...deployments, `--replicas=${replicas}`]);
      for (const each of deployments) await kubectl.run(["rollout", "status", inNamespace, each, "--timeout=180s"]);
    },
  };
}

/**
 * Starts the only controller of the cluster: one process of this machine, with default flags. `program` is the path of our
 * controller, or of another program with the same flags, for `ChildProgram`.
 */
export async function startSoleController(
  world: World,
  namespace: string,
  program: string,
): Promise<ObservedController & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "rouse-sole-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const kubeconfig = await kubeconfigFor(world, namespace, join(directory, "kubeconfig"));
  const flags = [
    ...[`--kubeconfig=${kubeconfig}`, "--extensions", "--leader-elect=false", "--enable-webhook=false"],
    ...[`--metrics-bind-address=127.0.0.1:${metricsPort}`, `--health-probe-bind-address=127.0.0.1:${healthPort}`],
  ];
  const controller = new ChildProgram(program, flags);
  stack.defer(() => controller.stop());
  await controller.untilServes(`http://127.0.0.1:${healthPort}/readyz`);
  const started = stack.move();
  return { pid: controller.pid, user, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** A kubeconfig for a ServiceAccount with all rights, whose name identifies its calls in the audit log. */
async function kubeconfigFor({ kubectl, layout, programs }: World, namespace: string, file: string): Promise<string> {
  const metadata = { name: user, namespace };
  const apiGroup = "rbac.authorization.k8s.io";
  await kubectl.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: user },
      roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", ...metadata }],
    },
  ]);
  const token = await kubectl.run(["create", "token", user, `--namespace=${namespace}`, "--duration=4h"]);
  copyFileSync(layout.kubeconfig("admin"), file);
  const own = createKubectl(programs.kubectl, file);
  await own.run(["config", "set-credentials", user, `--token=${token.trim()}`]);
  await own.run(["config", "set-context", "--current", `--user=${user}`]);
  return file;
}
