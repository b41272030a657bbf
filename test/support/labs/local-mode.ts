import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parse } from "yaml";
import type { KubeClient } from "../../../kube/client/client.ts";
import { connectionFor } from "../../../kube/client/connection.ts";
import { createKubeClient } from "../../../kube/client/http-client.ts";

/** The content of the ready file of local mode. */
export interface Ready {
  readonly api: string;
  readonly kubeconfig: string;
  readonly activator: string;
  /** With `--by-name-port`. */
  readonly byName?: string;
  readonly metrics: string;
  readonly domain: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Local mode in a process of its own, as `npm start` runs it. Disposing ends it and removes its folder. */
export class LocalMode implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), "rouse-test-"));
  #process: ChildProcess | undefined;
  output = "";

  get dataDir(): string {
    return join(this.#directory, "data");
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Starts it and resolves with the content of the ready file; rejects with its output if it exits before that. */
  async start(...flags: string[]): Promise<Ready> {
    const readyFile = join(this.#directory, "ready.json");
    rmSync(readyFile, { force: true });
    const exited = this.run(
      ...["--port=0", "--api-port=0", `--data-dir=${this.dataDir}`, `--ready-file=${readyFile}`],
      ...flags,
    ).then((code) => {
      throw new Error(`local mode ended with status ${code}:\n${this.output}`);
    });
    await Promise.race([appears(readyFile), exited]);
    exited.catch(() => {}); // from here on the test itself ends it
    return JSON.parse(readFileSync(readyFile, "utf8"));
  }

  /** Runs it with just these flags and resolves with its exit status. */
  async run(...flags: string[]): Promise<number | null> {
    this.output = "";
    const main = join(import.meta.dirname, "..", "..", "..", "local", "main.ts");
    const child = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    const [code] = await once(child, "exit");
    return code as number | null;
  }

  /** Sends a signal and resolves with the exit status once the process is gone. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, "exit");
    child.kill(signal);
    const [code] = await exited;
    return code as number | null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGTERM");
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function appears(path: string): Promise<void> {
  while (!existsSync(path)) await delay(20);
}

/** A client with the settings of the kubeconfig, as kubectl uses them. */
export function clientOf({ kubeconfig }: Ready): KubeClient & AsyncDisposable {
  const config = parse(readFileSync(kubeconfig, "utf8"));
  const { server, "certificate-authority-data": ca } = config.clusters[0].cluster;
  const connection = connectionFor({
    server,
    token: config.users[0].user.token,
    ca: Buffer.from(ca, "base64").toString(),
  });
  return createKubeClient(connection, { userAgent: "rouse-test" });
}

/** One request through the activator to the named sandbox of the default namespace. */
export function ask(
  ready: Ready,
  sandbox: string,
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(ready.activator);
  const host = `${sandbox}.default.${ready.domain}:${port}`;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ hostname, port, path, method, headers: { host, ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
