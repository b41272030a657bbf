import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { hostOf, hostsMax, portOf, ports } from "./ports.ts";
import { cores } from "./subjects.ts";

const run = promisify(execFile);

/** Until the connections are open and the code of a proxy in JavaScript is optimized. */
export const warmSeconds = 2;

/** The parameters of wrk. */
export interface Load {
  readonly path: string;
  readonly connections: number;
  /** Bytes of a request body; absent: GET. */
  readonly uploadBytes?: number;
  readonly newConnections?: boolean;
  readonly manyHosts?: boolean;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Responses other than 2xx, and failed connections. */
  readonly failures: number;
}

/** Runs wrk on the core that the proxy does not use. */
export async function runLoad(load: Load, seconds: number, directory: string): Promise<LoadResult> {
  const script = join(directory, "load.lua");
  writeFileSync(script, scriptOf(load));
  const port = portOf(load.path);
  const url = `http://127.0.0.1:${ports.proxy}${load.path}`;
  const flags = ["-t1", `-c${load.connections}`, `-d${seconds}`, "-s", script, "-H", `Host: ${hostOf(port)}`, url];
  const { stdout } = await run("taskset", ["-c", cores.rest, "wrk", ...flags]);
  const [, requests, durationUs, failures] = /RESULT (\d+) (\d+) (\d+)/.exec(stdout) ?? [];
  return { requests: Number(requests), seconds: Number(durationUs) / 1e6, failures: Number(failures) };
}

function scriptOf({ uploadBytes, newConnections, manyHosts }: Load): string {
  const lines = [
    uploadBytes === undefined ? "" : `wrk.method = "POST" wrk.body = string.rep("u", ${uploadBytes})`,
    newConnections ? 'wrk.headers["Connection"] = "close"' : "",
    manyHosts
      ? `local n = 0
function request()
  n = (n + 1) % ${hostsMax}
  wrk.headers["Host"] = "${hostOf(ports.files, 0).replace("s0", '" .. "s" .. n .. "')}"
  return wrk.format()
end`
      : "",
    `function done(summary)
  local e = summary.errors
  print("RESULT " .. summary.requests .. " " .. summary.duration .. " " .. e.connect + e.read + e.write + e.status + e.timeout)
end`,
  ];
  return lines.filter(Boolean).join("\n");
}
