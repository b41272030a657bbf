import { setTimeout as delay } from "node:timers/promises";
import { makeAuthority, makeServerCertificate } from "../../../lib/certificates/certificates.ts";
import { GrpcWorkload, grpcPort } from "../../sleep/grpc-workload.ts";
import { usualPrograms } from "../../sleep/in-process-node.ts";
import { rawPort } from "../../sleep/raw-workload.ts";
import { TestBed } from "../../sleep/test-bed.ts";
import { type ServerPair, TlsWorkload, tlsPort } from "../../sleep/tls-workload.ts";
import { workloadPort } from "../../sleep/workload.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { Findings } from "../findings.ts";
import { Names } from "../names.ts";
import { Rejections } from "./rejections.ts";
import { byNamePort, domain, requests } from "./requests.ts";
import { type SweepKind, type SweepWorld, timeoutMs } from "./sweep-kind.ts";
import { tunnels } from "./tunnels.ts";

export interface SweepOptions {
  readonly say: (text: string) => void;
  /** Milliseconds between two offsets from the deadline. */
  readonly stepMs: number;
  /** It determines which cases run at the same time. */
  readonly seed: number;
}

const beforeMs = 50;
/** The handshake starts at the deadline, and the Pod is sealed some time later. */
const afterMs = 150;
/** Concurrent cases. With more, requests would be late on a busy machine. */
const atATime = 10;

/** More than a case takes on a busy machine. */
const caseLimitMs = 60_000;

interface Case {
  readonly name: string;
  readonly kind: SweepKind;
  readonly offsetMs: number;
}

const ports = [workloadPort, rawPort, grpcPort, tlsPort].map((containerPort) => ({ containerPort }));
const podTemplate = { spec: { containers: [{ name: "main", image: "workload", ports }], nodeName: "bed" } };

/** Each kind of use once at every step around the idle deadline of a sandbox of its own, in real time. Returns all failures. */
export async function sweep({ say, stepMs, seed }: SweepOptions): Promise<readonly string[]> {
  const findings = new Findings(say);
  const { pair, authority } = await makePair();
  const rejections = new Rejections();
  await using bed = await TestBed.open({
    activators: 2,
    // Long, so that the leader keeps its lease on a busy machine.
    leaseSeconds: 30,
    activatorFlags: (at) => [`--by-name-bind-address=${at}:${byNamePort}`, `--domain=${domain}`],
    onActivatorLine: (line) => rejections.hear(line),
    podPrograms: (pod) => [
      ...usualPrograms(pod),
      new GrpcWorkload(pod.uid, pod.ledger),
      new TlsWorkload(pair, pod.uid, pod.ledger),
    ],
  });
  await using names = new Names(bed.client);
  const cases = casesOf(stepMs, seed);
  const world = { bed, names, authority, rejections };
  const left = cases.values();
  const worker = async () => {
    for (const each of left) await inTime(tryOne(each, world, findings), `${each.name} does not end`, findings);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
  // After a cancelled suspension, a sandbox is not suspended for a while, so all of them are waited for together.
  await Promise.all(
    cases.map(({ name }) =>
      bed.untilAsleep(name, 60_000).catch(() => findings.complain(`${name} does not sleep again`)),
    ),
  );
  for (const { name, kind } of cases) {
    const { length } = bed.node.ledger.of(name);
    if (length !== 1 && !(kind.isTunnel && length === 0)) findings.complain(`${name} was executed ${length} times`);
  }
  say(findings.summary());
  return findings.wrong;
}

/** All cases, in the order of the seed. */
function casesOf(stepMs: number, seed: number): readonly Case[] {
  const random = seededRandom(seed);
  const cases: { readonly order: number; readonly each: Case }[] = [];
  for (let offsetMs = -beforeMs; offsetMs <= afterMs; offsetMs += stepMs) {
    for (const kind of [...requests, ...tunnels]) {
      const name = `${kind.name}-${offsetMs + beforeMs}`;
      cases.push({ order: random.below(2 ** 20), each: { name, kind, offsetMs: (kind.spread ?? 1) * offsetMs } });
    }
  }
  return cases.sort((one, other) => one.order - other.order).map(({ each }) => each);
}

async function tryOne({ name, kind, offsetMs }: Case, world: SweepWorld, findings: Findings): Promise<void> {
  await world.bed.create(name, {
    ...{ autoSuspension: { inactivityTimeoutSeconds: timeoutMs / 1_000 }, podTemplate },
    ...kind.spec,
  });
  const { usedMs, ask } = await kind.prepare(name, world);
  await delay(usedMs + timeoutMs + offsetMs - performance.now());
  const { way, wrong } = await ask();
  if (way !== undefined) findings.count(`${kind.name}: ${way}`);
  if (wrong === undefined) return;
  const reasons = world.rejections.of(name).join(", ");
  findings.complain(`${name}: ${wrong}; reasons of rejections: ${reasons || "none"}`);
}

/** Reports a case that hangs, and goes on without it. */
async function inTime(tried: Promise<void>, late: string, findings: Findings): Promise<void> {
  const over = new AbortController();
  const limit = delay(caseLimitMs, "late", { signal: over.signal }).catch(() => undefined);
  const how = await Promise.race([tried, limit]);
  over.abort();
  if (how === "late") findings.complain(late);
}

async function makePair(): Promise<{ readonly pair: ServerPair; readonly authority: string }> {
  const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
  const authority = await makeAuthority("sweep authority", validity);
  const names = { commonName: "sweep", dnsNames: [`*.${domain}`], ipAddresses: [], validity };
  const { certificate: cert, key } = await makeServerCertificate(authority, names);
  return { pair: { cert, key }, authority: authority.certificate };
}
