import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { rawPort } from "../sleep/raw-workload.ts";
import { TestBed } from "../sleep/test-bed.ts";
import { Names } from "../soak/names.ts";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { countsPort, socketStates } from "./activator/resource-counts.ts";
import { PlannedGrpcServer } from "./http2/sandbox-grpc.ts";
import { Ledger } from "./ledger.ts";
import { handshakeSeconds } from "./link.ts";
import { PlannedHttpServer, type PlannedServer } from "./sandbox-http.ts";
import { PlannedTcpServer } from "./sandbox-tcp.ts";
import { allSandboxes, paused, rude, specOf, steady } from "./sandboxes.ts";
import { SandboxTimeline } from "./stall/sandbox-timeline.ts";
import { StallWatch } from "./stall/stall-watch.ts";
import type { World } from "./world.ts";

const httpPort = 8080;
const httpsPort = 8443;

export interface TortureBed {
  readonly bed: TestBed;
  readonly world: World;
  /** Closes every connection of the sandboxes, including idle ones. */
  closeSandboxes(): void;
}

/** A controller and an activator as processes, and sandboxes whose programs follow the plans. */
export async function openBed(
  stack: AsyncDisposableStack,
  onActivatorLine: (line: string) => void,
): Promise<TortureBed> {
  const tls = await makeTlsFiles(stack);
  const ledger = new Ledger();
  const servers = new Set<PlannedServer>();
  const bed = stack.use(
    await TestBed.open({
      // Long, so that the leader keeps its lease on a busy machine.
      leaseSeconds: 30,
      onActivatorLine,
      activatorMain: "test/torture/activator/watched-activator.ts",
      activatorFlags: (host) => [
        `--resource-counts=${host}:${countsPort}`,
        `--https-bind-address=${host}:${httpsPort}`,
        ...tls.flags,
        `--headers-timeout=${handshakeSeconds}s`,
        ...["--wakes-per-second=200", "--wakes-burst=400"],
      ],
      podPrograms() {
        const programs = [new PlannedHttpServer(ledger), new PlannedTcpServer(ledger), new PlannedGrpcServer(ledger)];
        for (const program of programs) servers.add(program);
        return programs;
      },
    }),
  );
  const names = stack.use(new Names(bed.client));
  await Promise.all(allSandboxes.map((name) => bed.create(name, specOf(name))));
  const [host = ""] = bed.activators.map((activator) => activator.host);
  await eventually(() => allSandboxes.every((name) => names.leadsTo(name, [host])), startLimitMs);
  await Promise.all([...steady, ...rude].map((name) => bed.untilReady(name, startLimitMs)));
  const onlyOne = seededRandom(0);
  const timeline = stack.use(new SandboxTimeline(bed.client, paused));
  const look = async ({ localPort }: { readonly localPort?: number }) =>
    `stuck: the client at port ${localPort}\n${await socketStates(host).catch(String)}\n${timeline.text()}`;
  const world: World = {
    ledger,
    http: { host, port: httpPort },
    https: { host, port: httpsPort },
    authority: tls.authority,
    tcp: (sandbox) => names.route(sandbox, rawPort, onlyOne),
    progress: stack.use(new StallWatch(look)),
  };
  return { bed, world, closeSandboxes: () => servers.forEach((server) => void server.closeConnections()) };
}

/** Long, because the processes share two processors with the traffic. */
const startLimitMs = 60_000;

async function makeTlsFiles(stack: AsyncDisposableStack) {
  const validity = { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 86_400_000) };
  const authority = await makeAuthority("torture authority", validity);
  const names = { commonName: "torture server", dnsNames: ["torture.test"], ipAddresses: [] };
  const { certificate, key } = await makeServerCertificate(authority, { ...names, validity });
  const directory = mkdtempSync(join(tmpdir(), "rouse-torture-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const [certFile, keyFile] = [join(directory, "tls.crt"), join(directory, "tls.key")];
  writeFileSync(certFile, certificate);
  writeFileSync(keyFile, key);
  return { authority: authority.certificate, flags: [`--tls-cert-file=${certFile}`, `--tls-key-file=${keyFile}`] };
}
