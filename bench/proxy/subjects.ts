import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { defaultCacheDirectory, findOrBuild } from "../../scripts/tools/build-tool.ts";
import { writeKubeconfig } from "../../test/programs/kubeconfig.ts";
import { nodeFlagsOf } from "../../test/programs/node-flags.ts";
import { haproxy, nginxBackend, nginxProxy } from "./configurations.ts";
import { ports } from "./ports.ts";

/** The proxy has one core, everything else has the other. */
export const cores = { proxy: "0", rest: "1" } as const;

export interface Running extends AsyncDisposable {
  readonly pid: number;
}

export interface ConnectDeps {
  /** For configurations, logs and files. */
  readonly directory: string;
  /** URL of the API server that the activator watches. */
  readonly api: string;
  /** The number of requests that one sandbox must be able to hold; absent: the activator's default. */
  readonly held?: number;
  /** The activator accepts HTTP/2. */
  readonly http2?: boolean;
}

const ownTree = join(import.meta.dirname, "..", "..");
const proxyPlace = { core: cores.proxy, port: ports.proxy } as const;

/** The measured proxies. Each has its own core, an access log in a file, and warm connections to the back-ends. */
export const subjects: Readonly<Record<string, (around: ConnectDeps) => Promise<Running>>> = {
  rouse: (around) => startActivator(around, ownTree),
  /** The activator of another tree, to compare a change with the state before it. */
  before: (around) => startActivator(around, process.env["BEFORE_AT"] ?? ownTree),
  /** Forwards bytes without parsing them: Node's floor. Every proxy on Node costs more. */
  relay: ({ directory }) => startNode(directory, { program: "relay.ts", ...proxyPlace }),
  nginx: ({ directory }) => startNginx(directory, "proxy", nginxProxy(directory), proxyPlace),
  haproxy: startHaproxy,
  /** The ecosystem's own. Built if it is missing, which takes Go and some minutes. */
  "sandbox-router": startRouter,
  "node:http": ({ directory }) => startNode(directory, { program: "node-http-proxy.ts", ...proxyPlace }),
  "http-proxy": ({ directory }) =>
    startNode(directory, { program: "http-proxy.ts", flags: [process.env["HTTP_PROXY_AT"] ?? "."], ...proxyPlace }),
};

/** The two back-ends, on the core of the load. */
export async function startBackends(directory: string): Promise<AsyncDisposable> {
  for (const [name, bytes] of [
    ["64k", 65_536],
    ["1m", 1_048_576],
  ] as const) {
    writeFileSync(join(directory, name), Buffer.alloc(bytes, name));
  }
  const started = new AsyncDisposableStack();
  started.use(await startNginx(directory, "backend", nginxBackend(directory), { core: cores.rest, port: ports.files }));
  started.use(await startNode(directory, { program: "streams-backend.ts", core: cores.rest, port: ports.streams }));
  started.use(await startNode(directory, { program: "calls-backend.ts", core: cores.rest, port: ports.calls }));
  return started;
}

/** The API server that the activator watches; resolves with its URL. */
export async function startWorld(): Promise<Running & { readonly url: string }> {
  const program = join(import.meta.dirname, "world.ts");
  const child = spawn("taskset", ["-c", cores.rest, process.execPath, program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return { url: String(line).trim(), ...running(child) };
}

/** With its defaults, but for the addresses of this measurement and the number of held requests. */
function startActivator({ directory, api, held, http2 }: ConnectDeps, tree: string): Promise<Running> {
  const heldLimits = ["--held-max-total", "--held-max-per-namespace", "--held-max-per-sandbox"];
  const flags = [
    `--kubeconfig=${writeKubeconfig(directory, api)}`,
    `--http-bind-address=127.0.0.1:${ports.proxy}`,
    `--health-probe-bind-address=127.0.0.1:${ports.ops}`,
    ...(http2 ? tlsFlags(directory) : []),
    ...["--metrics-bind-address=", "--authz-mode=allow-all", "--allow-loopback-pod-ip"],
    ...(http2 ? ["--http2"] : []),
    ...(held === undefined ? [] : heldLimits.map((flag) => `${flag}=${held}`)),
    ...["--drain-settle=0s", "--shutdown-timeout=0s"],
  ];
  const main = "activator/main.ts";
  const program = join(tree, main);
  return startNode(directory, { program, flags, options: nodeFlagsOf(main), core: cores.proxy, port: ports.ops });
}

const tlsFlags = (directory: string): readonly string[] => [
  `--https-bind-address=127.0.0.1:${ports.proxyTls}`,
  ...[`--tls-cert-file=${join(directory, "tls.crt")}`, `--tls-key-file=${join(directory, "tls.key")}`],
];

/** With its defaults, but for the addresses of this measurement. */
async function startRouter({ directory }: ConnectDeps): Promise<Running> {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const environment = process.env;
  const cacheDirectory = defaultCacheDirectory(environment);
  const program = await findOrBuild("sandbox-router", { cacheDirectory, environment, say });
  if (!program) throw new Error("there is no Go here to build the ecosystem's router with");
  const flags = [
    `--http-bind-address=127.0.0.1:${ports.proxy}`,
    ...tlsFlags(directory),
    `--health-probe-bind-address=127.0.0.1:${ports.ops}`,
    ...["--metrics-bind-address=", "--allow-loopback-pod-ip"],
  ];
  const log = openSync(join(directory, "router.log"), "a");
  const env = { ...environment, GOMAXPROCS: "1" }; // as many as it has cores
  return up(
    spawn("taskset", ["-c", cores.proxy, program, ...flags], { env, stdio: ["ignore", log, log] }),
    ports.proxy,
  );
}

/** A certificate that nobody trusts, for the proxies that speak TLS: in two files, and in one. */
export async function writeCertificate(directory: string): Promise<void> {
  const files = ["-keyout", join(directory, "tls.key"), "-out", join(directory, "tls.crt")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await promisify(execFile)("openssl", ["req", "-x509", ...key, "-days", "2", "-subj", "/CN=bench", ...files]);
  const parts = ["tls.crt", "tls.key"].map((name) => readFileSync(join(directory, name), "utf8"));
  writeFileSync(join(directory, "tls.pem"), parts.join(""));
}

/** The core of a process, and the port that it opens once it has started. */
interface Place {
  readonly core: string;
  readonly port: number;
}

interface NodeProcess extends Place {
  /** An absolute path, or a file of this folder. */
  readonly program: string;
  readonly flags?: readonly string[];
  readonly options?: readonly string[];
}

async function startNode(
  directory: string,
  { program, flags = [], options: ownOptions = [], core, port }: NodeProcess,
): Promise<Running> {
  const log = openSync(join(directory, "access.log"), "a");
  const options = [...ownOptions, ...(process.env["PROXY_NODE_OPTIONS"] ?? "").split(" ").filter(Boolean)];
  const path = join(import.meta.dirname, program).replace(/^.*\/(?=\/)/, "");
  const file = program.startsWith("/") ? program : path;
  const child = spawn("taskset", ["-c", core, process.execPath, ...options, file, ...flags], {
    stdio: ["ignore", "ignore", log],
  });
  return up(child, port);
}

function startNginx(directory: string, name: string, text: string, { core, port }: Place): Promise<Running> {
  const file = join(directory, `${name}.conf`);
  writeFileSync(file, text);
  const flags = ["-c", core, "nginx", "-c", file, "-e", join(directory, `${name}-error.log`), "-g", "daemon off;"];
  return up(spawn("taskset", flags, { stdio: "ignore" }), port);
}

function startHaproxy({ directory }: ConnectDeps): Promise<Running> {
  const file = join(directory, "haproxy.cfg");
  writeFileSync(file, haproxy(directory));
  const log = openSync(join(directory, "haproxy-access.log"), "a");
  const child = spawn("taskset", ["-c", cores.proxy, "haproxy", "-db", "-f", file], {
    stdio: ["ignore", log, "ignore"],
  });
  return up(child, ports.proxy);
}

async function up(child: ChildProcess, port: number): Promise<Running> {
  for (let waitedMs = 0; !(await accepts(port)); waitedMs += 50) {
    if (child.exitCode !== null || waitedMs > 20_000) throw new Error(`${child.spawnargs.join(" ")} did not start`);
    await delay(50);
  }
  await delay(300);
  return running(child);
}

function running(child: ChildProcess): Running {
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
