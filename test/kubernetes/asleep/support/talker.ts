import { nodeBaseImage } from "../../../../cluster/images/node-base.ts";
import type { openSandboxes } from "../../e2e/support/sandboxes.ts";

/** The port of the talker program. */
export const talkPort = 7000;

/**
 * A program that sends a greeting first, as many protocols do, echoes all data, and sends a trailer after its client has closed
 * its side. It exits at once on SIGTERM, which cuts open connections.
 */
const talker = `
const boot = crypto.randomUUID();
require("node:net").createServer({ allowHalfOpen: true }, (socket) => {
  let heard = 0;
  socket.write("hello from " + boot + "\\n");
  socket.on("data", (bytes) => { heard += bytes.length; socket.write(bytes); });
  socket.on("end", () => socket.end("\\nheard " + heard + "\\n"));
  socket.on("error", () => {});
}).listen(${talkPort});
process.on("SIGTERM", () => process.exit(0));
`;

/**
 * Visits a talker, once or repeatedly for \`lastMs\`: waits for its greeting, sends small pieces for
 * \`talkMs\`, closes its side and reads to the end. Writes the result of each visit as a line of JSON.
 */
const visitor = `
const { connect } = require("node:net");
const { host, port, talkMs = 0, silent = false, lastMs = 0, everyMs = 100 } = JSON.parse(process.argv[1]);
const beganMs = performance.now();
const sinceMs = () => Math.round(performance.now() - beganMs);
const visit = () => {
  const atMs = sinceMs();
  const socket = connect({ host, port, allowHalfOpen: true }).setEncoding("utf8");
  let said = "", heard = "", failure = "", talking;
  const say = (text) => { said += text; socket.write(text); };
  socket.on("error", ({ code }) => { failure = code; });
  socket.on("data", (text) => {
    heard += text;
    if (talking || silent) return;
    const untilMs = sinceMs() + talkMs;
    talking = setInterval(() => {
      say(".");
      if (sinceMs() < untilMs) return;
      clearInterval(talking);
      socket.end();
    }, 50);
  });
  socket.on("end", () => socket.end());
  socket.on("close", () => {
    clearInterval(talking);
    const [, boot = "", echo = "", count = ""] = /^hello from (\\S+)\\n(?:([^]*)\\nheard (\\d+)\\n)?$/.exec(heard) ?? [];
    const whole = said !== "" && echo === said && Number(count) === said.length;
    console.log(JSON.stringify({ atMs, tookMs: sinceMs() - atMs, boot, whole, failure }));
  });
};
visit();
if (lastMs > 0) {
  const timer = setInterval(() => (sinceMs() < lastMs ? visit() : clearInterval(timer)), everyMs);
}
`;

export interface Visit {
  /** The start and the duration of the visit. */
  readonly atMs: number;
  readonly tookMs: number;
  /** The id in the greeting, which differs for each process. Empty without a greeting, or if the end of the echo was missing. */
  readonly boot: string;
  /** All data came back, and both sides closed cleanly. */
  readonly whole: boolean;
  /** The code of the error that the visitor saw. */
  readonly failure: string;
}

interface Route {
  readonly talkMs?: number;
  /** Sends nothing, and stays until the other side closes. */
  readonly silent?: boolean;
  readonly lastMs?: number;
  readonly everyMs?: number;
}

type Sandboxes = Awaited<ReturnType<typeof openSandboxes>>;

/** The container of a talker, and its port. */
export const talkingContainer = {
  command: ["node", "--eval", talker],
  ports: [{ name: "talk", containerPort: talkPort }],
};

/** A Pod in the namespace that visits sandboxes by their names. */
export async function openVisitor({ apply, run }: Pick<Sandboxes, "apply" | "run">) {
  const container = { name: "main", image: nodeBaseImage, command: ["node", "--eval", "setInterval(() => {}, 1000)"] };
  const spec = { terminationGracePeriodSeconds: 0, containers: [container] };
  await apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "visitor" }, spec } as { metadata: object });
  await run("wait", "pod/visitor", "--for=condition=Ready", "--timeout=60s");
  return {
    /** The results of the visits, in the order of their starts. */
    async visit(host: string, route: Route = {}): Promise<readonly Visit[]> {
      const told = JSON.stringify({ host, port: talkPort, ...route });
      const lines = (await run("exec", "visitor", "--", "node", "--eval", visitor, told)).trim().split("\n");
      return lines.map((line): Visit => JSON.parse(line)).sort((a, b) => a.atMs - b.atMs);
    },
  };
}

/** One visit, which must be complete. */
export async function visitOnce(
  visitor: Awaited<ReturnType<typeof openVisitor>>,
  host: string,
  route?: Route,
): Promise<Visit> {
  const [visit, ...others] = await visitor.visit(host, route);
  if (!visit || others.length > 0) throw new Error("it was to be one visit");
  if (!visit.whole) throw new Error(`${host} was not reached as it should be: ${JSON.stringify(visit)}`);
  return visit;
}
