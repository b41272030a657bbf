import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { moduleDirectory } from "./module-directory.ts";
import { type Overlay, overlayArguments } from "./overlay.ts";

const run = promisify(execFile);

/** A program that tests and benchmarks run, built from Go modules. */
interface Tool {
  /** The folder, relative to this one, whose go.mod pins it. */
  readonly module: string;
  readonly package: string;
  /** `{build}` stands for the hash of all inputs. */
  readonly linkerFlags: string;
  /** It is compiled from the Go files of the folder. */
  readonly isOurs?: true;
  /** A change of a file of another module. */
  readonly overlay?: Overlay;
}

// Without a stamped version, kubectl reports one that neither it nor others can parse.
const kubernetes = (version: string) => {
  const [major, minor] = version.slice(1).split(".");
  const stamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) => [
    `-X ${path}.gitVersion=${version}`,
    `-X ${path}.gitMajor=${major}`,
    `-X ${path}.gitMinor=${minor}`,
  ]);
  return ["-s -w", ...stamps].join(" ");
};

// Helm renders charts for the Kubernetes version of its build. Without a stamp that is a version that no chart
// supports.
const helm = (version: string, kubernetesMinor: string) => {
  const stamps = ["pkg/lint/rules", "pkg/chartutil"].flatMap((path) => [
    `-X helm.sh/helm/v3/${path}.k8sVersionMajor=1`,
    `-X helm.sh/helm/v3/${path}.k8sVersionMinor=${kubernetesMinor}`,
  ]);
  return [`-s -w -X helm.sh/helm/v3/internal/version.version=${version}`, ...stamps].join(" ");
};

const kubernetesProgram = (command: string, version = "v1.36.3", module = "kubernetes") =>
  ({ module, package: `k8s.io/kubernetes/cmd/${command}`, linkerFlags: kubernetes(version) }) satisfies Tool;

/** The existing controller of the ecosystem, for comparisons and upgrades. */
const agentSandbox = (version: string, module: string) =>
  ({
    module,
    package: "sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller",
    linkerFlags: `-s -w -X sigs.k8s.io/agent-sandbox/internal/version.gitVersion=${version}`,
  }) satisfies Tool;

const gvisorVersion = "v0.0.0-20260905035102-160fafc42237";

/** gVisor's shim for containerd with our code at its extension point. */
const shim = {
  module: "../../node/shim",
  package: "rouse.dev/node/shim",
  linkerFlags: `-s -w -X main.version=${gvisorVersion}+{build}`,
  isOurs: true,
} satisfies Tool;

/** The stamped versions equal those that each go.mod pins; a test compares them. */
export const tools = {
  kubectl: kubernetesProgram("kubectl"),
  "kubectl-1.30": kubernetesProgram("kubectl", "v1.30.14", "kubectl-1.30"),
  "kube-apiserver": kubernetesProgram("kube-apiserver"),
  "kube-controller-manager": kubernetesProgram("kube-controller-manager"),
  "kube-scheduler": kubernetesProgram("kube-scheduler"),
  kubelet: kubernetesProgram("kubelet"),
  "kube-proxy": kubernetesProgram("kube-proxy"),
  etcd: { module: "etcd", package: "go.etcd.io/etcd/server/v3", linkerFlags: "-s -w" },
  coredns: { module: "coredns", package: "github.com/coredns/coredns", linkerFlags: "-s -w" },
  helm: {
    module: "helm",
    package: "helm.sh/helm/v3/cmd/helm",
    linkerFlags: helm("v3.22.0", "37"),
  },
  kwok: {
    module: "kwok",
    package: "sigs.k8s.io/kwok/cmd/kwok",
    linkerFlags: "-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=v0.8.0",
  },
  "agent-sandbox": agentSandbox("v0.5.6", "agent-sandbox"),
  // The last release that stored v1alpha1.
  "agent-sandbox-0.4": agentSandbox("v0.4.6", "agent-sandbox-0.4"),
  /** The existing router of the ecosystem, for comparisons. */
  "sandbox-router": {
    module: "sandbox-router",
    package: "sigs.k8s.io/agent-sandbox/sandbox-router/cmd",
    linkerFlags: "-s -w",
  },
  // Makes and moves images without a daemon; it has a registry of its own on the loopback interface.
  crane: {
    module: "crane",
    package: "github.com/google/go-containerregistry/cmd/crane",
    linkerFlags: "-s -w -X github.com/google/go-containerregistry/cmd/crane/cmd.Version=v0.22.1",
  },
  // Clients and servers of HTTP/2 and gRPC that others wrote.
  "grpc-interop-client": {
    module: "protocols",
    package: "google.golang.org/grpc/interop/client",
    linkerFlags: "-s -w",
  },
  "grpc-interop-server": {
    module: "protocols",
    package: "google.golang.org/grpc/interop/server",
    linkerFlags: "-s -w",
  },
  grpcurl: {
    module: "protocols",
    package: "github.com/fullstorydev/grpcurl/cmd/grpcurl",
    linkerFlags: "-s -w",
  },
  h2spec: { module: "protocols", package: "github.com/summerwind/h2spec/cmd/h2spec", linkerFlags: "-s -w" },
  k6: { module: "k6", package: "go.k6.io/k6", linkerFlags: "-s -w" },
  // gVisor restores memory only with the version that captured it. Without a stamp all builds have the same version.
  runsc: {
    module: shim.module,
    package: "gvisor.dev/gvisor/runsc",
    linkerFlags: `-s -w -X gvisor.dev/gvisor/runsc/version.version=${gvisorVersion}+{build}`,
  },
  "containerd-shim-rouse-v1": shim,
  // For machines without CAP_SYS_RESOURCE, where no process can lower its OOM score.
  "containerd-shim-rouse-v1-any-oom-score": {
    ...shim,
    linkerFlags: `${shim.linkerFlags}.any-oom-score`,
    overlay: {
      module: "gvisor.dev/gvisor",
      file: "pkg/shim/v1/manager.go",
      replaced: `return shim.BootstrapParams{}, fmt.Errorf("failed to set OOM Score on shim: %w", err)`,
      by: "_ = err",
    },
  },
} as const satisfies Readonly<Record<string, Tool>>;

export type ToolName = keyof typeof tools;

export interface ToolBuilder {
  /** The folder for the built programs, shared by checkouts. */
  readonly cacheDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
}

export function defaultCacheDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  return join(environment.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "rouse", "tools");
}

/**
 * The path of a program, built if it is missing; undefined without Go. A built program is stored under the hash of all
 * its inputs, so a changed pin never gets an old program.
 *
 * @throws when the build fails; the message ends with the compiler's output.
 */
export async function findOrBuild(name: ToolName, builder: ToolBuilder): Promise<string | undefined> {
  const { cacheDirectory, environment, say } = builder;
  const tool: Tool = tools[name];
  const directory = join(import.meta.dirname, tool.module);
  const hash = createHash("sha256").update(JSON.stringify(tool));
  for (const file of inputsOf(tool)) hash.update(readFileSync(join(directory, file)));
  // Go builds for another machine if these say so.
  for (const variable of ["GOOS", "GOARCH"])
    if (environment[variable]) hash.update(`${variable}=${environment[variable]}`);
  const build = hash.digest("hex").slice(0, 16);
  const path = join(cacheDirectory, build, name);
  if (existsSync(path)) return path;
  if (!(await hasGo())) return undefined;

  say(`building ${name} (only the first time; it takes minutes) ...`);
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  await using folder = await mkdtempDisposable(join(dirname(path), "overlay-"));
  const overlay = tool.overlay
    ? await overlayArguments(tool.overlay, { pinnedBy: directory, folder: folder.path, environment })
    : [];
  const linkerFlags = tool.linkerFlags.replaceAll("{build}", build);
  const args = ["build", "-trimpath", ...overlay, "-ldflags", linkerFlags, "-o", unfinished, tool.package];
  await run("go", args, { cwd: directory, env: { ...environment, CGO_ENABLED: "0" }, maxBuffer: 64 << 20 });
  renameSync(unfinished, path);
  return path;
}

/** The files that a tool is built from, besides the modules that they pin; relative to its folder. */
export function inputsOf({ module, isOurs }: Pick<Tool, "module" | "isOurs">): readonly string[] {
  const pins = ["go.mod", "go.sum"];
  if (!isOurs) return pins;
  const files = readdirSync(join(import.meta.dirname, module), { recursive: true, encoding: "utf8" });
  return [...pins, ...files.filter((file) => file.endsWith(".go") && !file.endsWith("_test.go")).sort()];
}

/**
 * The folder of a tool's module with its published files; downloaded if missing, and verified by the tool's go.sum.
 *
 * @throws when it cannot be downloaded; the message ends with the output of Go.
 */
export async function findModule(
  name: ToolName,
  path: string,
  { environment }: Pick<ToolBuilder, "environment">,
): Promise<string> {
  return moduleDirectory(path, { pinnedBy: join(import.meta.dirname, tools[name].module), environment });
}

async function hasGo(): Promise<boolean> {
  return run("go", ["version"]).then(
    () => true,
    () => false,
  );
}
