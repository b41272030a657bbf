import {
  addressesListedBy,
  type EndpointSlice,
  endpointSliceType,
  tcpFrontOf,
  tcpFrontSelector,
} from "../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { home } from "../sleep/test-bed.ts";
import type { SeededRandom } from "../support/seeded-random.ts";

export interface Route {
  readonly host: string;
  readonly port: number;
}

/** Finds the activator port for a sandbox's Service by the EndpointSlices, as kube-proxy does. */
export class Names implements AsyncDisposable {
  readonly #informer;

  constructor(client: KubeClient) {
    this.#informer = startInformer<EndpointSlice, "sandbox">({
      ...{ client, type: endpointSliceType, namespace: home, clock: systemClock, log: silentLogger },
      labelSelector: tcpFrontSelector,
      indexes: { sandbox: (slice) => [tcpFrontOf(slice)?.sandboxName ?? ""] },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#informer[Symbol.asyncDispose]();
  }

  /** The address of an activator port for that port of a sandbox; undefined if its Service has no endpoint. */
  route(sandbox: string, containerPort: number, random: SeededRandom): Route | undefined {
    const slice = this.#sliceOf(sandbox);
    const hosts = slice ? addressesListedBy(slice) : [];
    const port = slice && portOf(slice, containerPort);
    return hosts.length === 0 || port === undefined ? undefined : { host: random.oneOf(hosts), port };
  }

  /** Whether the Service of a sandbox has exactly these activators as endpoints. */
  leadsTo(sandbox: string, hosts: readonly string[]): boolean {
    const slice = this.#sliceOf(sandbox);
    return slice !== undefined && [...addressesListedBy(slice)].sort().join() === [...hosts].sort().join();
  }

  get size(): number {
    return this.#informer.store.list().length;
  }

  #sliceOf(sandbox: string): Stored<EndpointSlice> | undefined {
    return this.#informer.store.by("sandbox", sandbox)[0];
  }
}

function portOf(slice: EndpointSlice, containerPort: number): number | undefined {
  const name = tcpFrontOf(slice)?.ports.find((port) => port.containerPort === containerPort)?.name;
  return (slice.ports ?? []).find((port) => port.name === name)?.port;
}
