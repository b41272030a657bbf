import type { Registry } from "prom-client";
import { startCertificateFiles } from "../../lib/certificates/certificate-files.ts";
import { CurrentCertificate, type ShownCertificates } from "../../lib/certificates/certificate-source.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import type { Logger } from "../../lib/log/log.ts";
import { metricsPage } from "../../lib/net/metrics-page.ts";
import { type PageTls, startPageServer } from "../../lib/net/page-server.ts";
import { firstFailure, type Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { MetricsConfig, MetricsTls } from "../config/metrics-config.ts";
import { startProfiles } from "./profiles.ts";

export interface MetricsServer extends Running {
  readonly url: string;
}

export interface MetricsParts {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Serves `/metrics`, and profiles where they were asked for.
 *
 * @throws NoCertificateFiles if a configured certificate file is missing, Error if the address cannot be used.
 */
export async function serveMetrics(config: MetricsConfig, parts: MetricsParts): Promise<MetricsServer> {
  const { registry, clock, log } = parts;
  await using stack = new AsyncDisposableStack();
  const running: Running[] = [];
  const keep = <R extends Running>(started: R): R => {
    running.push(stack.use(started));
    return started;
  };
  const tls = config.tls && (await pageTls(config.tls, parts, keep));
  const profiles = config.profiles === "none" ? {} : stack.use(await startProfiles(config.profiles, clock)).pages;
  const pages = { ...profiles, "/metrics": metricsPage(registry) };
  const server = stack.use(await startPageServer({ name: "metrics", address: config.address, pages, log, tls }));
  const started = stack.move();
  const failed = firstFailure(...running);
  return { url: server.url, failed, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function pageTls(
  { files, minVersion, ciphers }: MetricsTls,
  { clock, log }: MetricsParts,
  keep: <R extends Running>(started: R) => R,
): Promise<PageTls> {
  const certificates = files
    ? keep(await startCertificateFiles(files, { server: "the metrics", clock, log }))
    : await selfMade(clock.now());
  return { certificates, minVersion, ...(ciphers !== undefined && { ciphers }) };
}

const selfMadeYears = 10;

/** A client that accepts a self-signed certificate does not check its age either; it is valid as long as the process. */
async function selfMade(now: Date): Promise<ShownCertificates> {
  const notAfter = new Date(now);
  notAfter.setUTCFullYear(now.getUTCFullYear() + selfMadeYears);
  const validity = { notBefore: new Date(now.getTime() - 3_600_000), notAfter };
  const authority = await makeAuthority("agent-sandbox-controller-metrics-ca", validity);
  const request = {
    commonName: "agent-sandbox-controller-metrics",
    dnsNames: ["localhost"],
    ipAddresses: [],
    validity,
  };
  return new CurrentCertificate(await makeServerCertificate(authority, request));
}
