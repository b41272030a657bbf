import { Counter, type Registry } from "prom-client";
import { startCertificateFiles } from "../../lib/certificates/certificate-files.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Running } from "../../lib/process/lifecycle.ts";
import type { ActivatorConfig } from "../config/config.ts";
import type { HttpsConfig } from "../config/https-config.ts";
import type { ProtocolFront, RequestFront } from "../front.ts";
import { type FrontParts, startHttp1Front } from "./front/http1-front.ts";
import type { FrontTls } from "./secure-server.ts";

export interface HttpFrontsParts extends FrontParts {
  readonly registry: Registry;
  readonly log: Logger;
  /** Disposed of with the listeners. Undefined: HTTP/2 is disabled. */
  readonly http2: ProtocolFront | undefined;
}

/** All HTTP fronts as one. Its address is that of plain HTTP, if enabled. */
export interface HttpFronts extends RequestFront, Running {
  /** Undefined: HTTPS is disabled. */
  readonly tlsPort: number | undefined;
}

/**
 * Starts the listeners for HTTP, HTTPS or both.
 *
 * @throws NoCertificateFiles without a certificate, Error if it cannot listen on a port.
 */
export async function startHttpFronts(config: ActivatorConfig, parts: HttpFrontsParts): Promise<HttpFronts> {
  await using stack = new AsyncDisposableStack();
  const plain = config.http && stack.use(await startHttp1Front({ ...config, ...config.http }, parts));
  const tls = config.https && stack.use(await startTlsFront(config, config.https, parts));
  const listening = [plain, tls?.front].filter((front) => front !== undefined);
  const [first] = listening;
  if (!first) throw new Error("there is no address to listen on");
  if (parts.http2) stack.use(parts.http2); // first of all: a listener closes once its connections have
  const started = stack.move();
  const fronts = parts.http2 ? [...listening, parts.http2] : listening;
  return {
    address: first.address,
    tlsPort: tls?.front.address.port,
    failed: tls?.failed ?? new Promise<never>(() => {}),
    get active() {
      return fronts.reduce((sum, front) => sum + front.active, 0);
    },
    beginDrain: () => fronts.forEach((front) => void front.beginDrain()),
    stopAccepting: () => fronts.forEach((front) => void front.stopAccepting()),
    endWebSockets: () => fronts.forEach((front) => void front.endWebSockets()),
    async idle() {
      // A connection that was idle here may have been yielded to the last one meanwhile.
      for (const front of fronts) await front.idle();
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function startTlsFront(
  config: ActivatorConfig,
  { files, clients, clientAuthorityFile: clientAuthority, ...address }: HttpsConfig,
  parts: HttpFrontsParts,
): Promise<{ readonly front: RequestFront } & Running> {
  await using stack = new AsyncDisposableStack();
  const reloads = createReloadCounter(parts.registry);
  const certificates = stack.use(
    await startCertificateFiles(
      { ...files, ...(clientAuthority !== undefined && { clientAuthority }) },
      {
        ...{ server: "the HTTPS listener", clock: parts.clock, log: parts.log },
        onReload: (outcome) => reloads.inc({ outcome }),
      },
    ),
  );
  const tls: FrontTls = { certificates, clients };
  const front = stack.use(await startHttp1Front({ ...config, ...address, tls }, parts));
  const started = stack.move();
  return { front, failed: certificates.failed, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

function createReloadCounter(registry: Registry) {
  const reloads = new Counter({
    name: "sandbox_router_cert_reloads_total",
    help: "Reloads of the certificate files of the HTTPS listener, by outcome: success or failure.",
    labelNames: ["outcome"] as const,
    registers: [registry],
  });
  for (const outcome of ["success", "failure"] as const) reloads.inc({ outcome }, 0);
  return reloads;
}
