import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { clientHello } from "../support/builders/client-hello.ts";
import { eventually } from "../support/eventually.ts";
import { startTinyKubelet } from "../support/fakes/tiny-kubelet.ts";
import { aSandbox } from "../support/labs/activator-world.ts";
import { novaHost, openToAll } from "../support/labs/by-name-lab.ts";
import { allocate, freeFrontPort, tcpPort, tcpProgram } from "../support/labs/tcp-front-lab.ts";
import { openMemoryApi } from "../support/memory-api.ts";
import { ChildProgram } from "./child-program.ts";
import { writeKubeconfig } from "./kubeconfig.ts";

const clients = 20;
const host = "127.0.0.1";

interface Ways {
  readonly tcp: number;
  readonly byName: number;
  readonly http: number;
}

/** An activator in a process of its own, in front of a sandbox whose program gets each connection. */
async function given(onConnection: (socket: Socket) => void) {
  await using opened = new AsyncDisposableStack();
  const api = opened.use(await openMemoryApi());
  const kubelet = opened.use(startTinyKubelet(api.client));
  kubelet.run("nova", tcpProgram(onConnection));
  await api.client.create(sandboxType, aSandbox("nova", openToAll));
  await eventually(() => kubelet.made("nova") > 0);
  const { uid } = (await api.client.get(sandboxType, { namespace: "default", name: "nova" })).metadata;
  const ports = { tcp: await freeFrontPort(), byName: await freeFrontPort() };
  await allocate(api.client, { name: "nova", uid }, { activatorPort: ports.tcp, containerPort: tcpPort });
  const folder = mkdtempSync(join(tmpdir(), "exit-cuts-"));
  opened.defer(() => rmSync(folder, { recursive: true }));
  const logged: { readonly msg: string; readonly outcome?: string }[] = [];
  const flags = [`--kubeconfig=${writeKubeconfig(folder, api.url)}`, "--authz-mode=allow-all", "--access-log=true"];
  flags.push(...["http", "health-probe", "drain"].map((listener) => `--${listener}-bind-address=${host}:0`));
  flags.push("--metrics-bind-address=", "--allow-loopback-pod-ip", `--tcp-front-bind-address=${host}`);
  flags.push(`--by-name-bind-address=${host}:${ports.byName}`, "--drain-settle=0s", "--shutdown-timeout=0s");
  const activator = opened.use(
    new ChildProgram("activator/main.ts", flags, (line) => {
      if (/"msg":"(connection|request)"/.test(line)) logged.push(JSON.parse(line));
    }),
  );
  const { proxy } = await activator.started;
  await eventually(() => accepts(ports.tcp));
  const closing = opened.move();
  return {
    ...{ activator, logged },
    ways: { ...ports, http: Number(new URL(String(proxy)).port) },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const probe = connect(port, host, () => resolve(probe.resetAndDestroy() !== undefined));
    probe.on("error", () => resolve(false));
  });

const hello = await clientHello({ servername: novaHost });
const part = Buffer.alloc(20_000, 1);
const upgrade = `GET / HTTP/1.1\r\nHost: ${novaHost}\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n`;
const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n";
const upload = `POST / HTTP/1.1\r\nHost: ${novaHost}\r\nContent-Length: 1000000\r\n\r\n`;

it.each<{ readonly way: keyof Ways; readonly what: string; readonly first: string | Buffer; readonly reply: string }>([
  { way: "tcp", what: "to an activator port", first: "", reply: "go on" },
  { way: "byName", what: "by name", first: hello, reply: "go on" },
  { way: "http", what: "after an upgrade", first: upgrade, reply: `${switched}go on` },
  { way: "http", what: "with the body of a request", first: upload, reply: "HTTP/1.1 200 OK\r\n\r\ngo on" },
])(
  "an activator that exits resets both sides of an upload $what, and logs it",
  async ({ way, first, reply }) => {
    const endings = { sandbox: [] as string[], client: [] as string[] };
    const watch = (socket: Socket, of: string[]) => {
      socket.on("end", () => of.push("end")).on("error", ({ code }: NodeJS.ErrnoException) => of.push(code ?? ""));
    };
    const uploads: Socket[] = [];
    await using lab = await given((socket) => {
      socket.once("data", () => {
        uploads.push(socket);
        watch(socket, endings.sandbox);
        socket.resume().write(reply);
      });
    });
    const port = lab.ways[way];
    let begun = 0;
    for (let made = 0; made < clients; made += 1) {
      const client = connect({ port, host, allowHalfOpen: true });
      watch(client, endings.client);
      client.once("data", () => (begun += 1)).write(Buffer.concat([Buffer.from(first), part]));
    }
    await eventually(() => begun === clients && uploads.every(({ bytesRead }) => bytesRead >= part.length));
    process.kill(lab.activator.pid, "SIGTERM");
    await lab.activator.exited;
    await eventually(() => endings.sandbox.length >= clients && endings.client.length >= clients);
    const reset = Array.from({ length: clients }, () => "ECONNRESET");
    expect(endings.sandbox).toEqual(reset);
    // The part of a response in chunks lacks its end in any case.
    if (first !== upload) expect(endings.client).toEqual(reset);
    const cut = lab.logged.filter(({ msg, outcome }) => msg === "request" || outcome === "cut");
    expect(cut).toHaveLength(clients);
  },
  60_000,
);
