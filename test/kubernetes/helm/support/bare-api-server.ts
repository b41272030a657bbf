import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { createServer } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Credentials, makeCredentials, makeKubeconfig } from "../../../../local/credentials.ts";
import { established } from "../../support/established.ts";
import { eventually } from "../../support/eventually.ts";
import type { HelmTestTools } from "./provide-tools.ts";

const execute = promisify(execFile);

/** etcd and an API server. Without a garbage collector there is no controller: what an installer writes stays as it is. */
export interface BareApiServer extends AsyncDisposable {
  /** Runs a command line as a person types it, with helm and kubectl in the PATH. Returns its output. */
  type(commandLine: string): Promise<string>;
}

/** Waits until the API server serves definitions; by default all that it has. */
export const establishDefinitions = (api: BareApiServer, ...definitions: readonly string[]) =>
  established(
    (words) => api.type(`kubectl ${words.join(" ")}`),
    definitions.length > 0 ? definitions : ["crd", "--all"],
  );

const repository = join(import.meta.dirname, "..", "..", "..", "..");
const commandMs = 120_000;
const startMs = 120_000;

/** The second takes the finalizer off volume claims that no Pod uses: without it none is ever deleted. */
const collectors = ["garbage-collector-controller", "persistentvolumeclaim-protection-controller"];

export async function startBareApiServer(
  tools: HelmTestTools,
  { garbageCollector = false } = {},
): Promise<BareApiServer> {
  await using cleanup = new AsyncDisposableStack();
  const home = await mkdtemp("/tmp/rouse-helm-");
  cleanup.defer(() => rm(home, { recursive: true }));
  const [client = 0, peer = 0, secure = 0] = await freePorts(3);
  // Keys of elliptic curves: the API server needs a good part of its start to make one of RSA for itself.
  const credentials = await makeCredentials();
  await writeFile(join(home, "server.crt"), credentials.server.certificate);
  await writeFile(join(home, "server.key"), credentials.server.key);
  await writeFile(join(home, "tokens"), `${credentials.token},administrator,1,system:masters\n`);
  cleanup.use(startProgram(tools.etcd, etcdFlags(home, client, peer), join(home, "etcd.log")));
  const log = join(home, "api.log");
  cleanup.use(startProgram(tools["kube-apiserver"], apiServerFlags(home, client, secure), log));
  const kubeconfig = join(home, "kubeconfig");
  await writeFile(kubeconfig, makeKubeconfig(`https://127.0.0.1:${secure}`, credentials));
  const path = [dirname(tools.helm), dirname(tools.kubectl), process.env["PATH"]].join(delimiter);
  const environment = { ...process.env, PATH: path, HOME: home, KUBECONFIG: kubeconfig };
  const type = async (line: string) => {
    const options = { cwd: repository, env: environment, timeout: commandMs, maxBuffer: 64 << 20 };
    return (await execute("bash", ["-o", "pipefail", "-c", line], options)).stdout;
  };
  await eventually(() => isReady(secure, credentials), startMs).catch((cause: unknown) => {
    throw new Error(`the API server is not ready:\n${readFileSync(log, "utf8").slice(-2_000)}`, { cause });
  });
  if (garbageCollector) {
    const flags = {
      kubeconfig,
      controllers: collectors.join(","),
      "leader-elect": "false",
      "secure-port": 0,
    };
    cleanup.use(startProgram(tools["kube-controller-manager"], flags, join(home, "controllers.log")));
  }
  const disposables = cleanup.move();
  return { type, [Symbol.asyncDispose]: () => disposables.disposeAsync() };
}

/** A kubectl for each question would take the processor from the API server that starts. */
function isReady(port: number, { authority: ca, token }: Credentials): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, path: "/readyz", ca, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on("error", () => resolve(false)).end();
  });
}

function startProgram(program: string, flags: Readonly<Record<string, string | number>>, log: string): AsyncDisposable {
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child: ChildProcess = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const file = createWriteStream(log);
  child.stdout?.pipe(file, { end: false });
  child.stderr?.pipe(file, { end: false });
  return {
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
      file.end();
    },
  };
}

const etcdFlags = (home: string, client: number, peer: number) => ({
  name: "rouse",
  "data-dir": join(home, "etcd"),
  "unsafe-no-fsync": "true",
  "listen-client-urls": `http://127.0.0.1:${client}`,
  "advertise-client-urls": `http://127.0.0.1:${client}`,
  "listen-peer-urls": `http://127.0.0.1:${peer}`,
  "initial-advertise-peer-urls": `http://127.0.0.1:${peer}`,
  "initial-cluster": `rouse=http://127.0.0.1:${peer}`,
});

const apiServerFlags = (home: string, etcd: number, secure: number) => ({
  "etcd-servers": `http://127.0.0.1:${etcd}`,
  "bind-address": "127.0.0.1",
  "secure-port": secure,
  "tls-cert-file": join(home, "server.crt"),
  "tls-private-key-file": join(home, "server.key"),
  "token-auth-file": join(home, "tokens"),
  "authorization-mode": "RBAC",
  "service-account-issuer": "https://kubernetes.default.svc",
  "service-account-signing-key-file": join(home, "server.key"),
  "service-account-key-file": join(home, "server.crt"),
  "service-cluster-ip-range": "10.0.0.0/24",
  // No controller makes service accounts.
  "disable-admission-plugins": "ServiceAccount",
});

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  return Promise.all(
    servers.map(async (server) => {
      const address = server.address();
      server.close();
      await once(server, "close");
      return typeof address === "object" && address ? address.port : 0;
    }),
  );
}
