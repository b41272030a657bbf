import { type EndpointSlice, endpointSliceType, serviceNameLabel } from "../../api/between-programs/tcp-front.ts";
import { podType, serviceType } from "../../api/kinds/core.ts";
import { type KubeObject, keyFor, keyOf, type Stored } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { startInformer } from "../../kube/informer/start-informer.ts";
import type { Logger } from "../../lib/log/log.ts";
import { firstFailure, type Running } from "../../lib/process/lifecycle.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { slicesOfSelected } from "./selected-pods.ts";
import { routesOf, type ServiceRoute } from "./service-routes.ts";

export interface ServiceViewOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The routes of Services, from the API server. */
export interface ServiceView extends Running {
  /** Resolves when every Service that existed at the start is known. */
  readonly synced: Promise<void>;
  /** The routes of the Service with this key; empty if it does not exist. */
  routesTo(serviceKey: string): readonly ServiceRoute[];
}

const namespaceOf = ({ metadata }: KubeObject): readonly string[] => [metadata.namespace ?? ""];
const serviceKeyOf = ({ metadata }: EndpointSlice): string =>
  keyFor(metadata.namespace, metadata.labels?.[serviceNameLabel] ?? "");

/**
 * Watches Services and their endpoints, and calls `onChange` with the key of each Service whose routes may have
 * changed.
 */
export function startServiceView(options: ServiceViewOptions, onChange: (serviceKey: string) => void): ServiceView {
  const byNamespace = { namespace: namespaceOf };
  const services = startInformer({ ...options, type: serviceType, indexes: byNamespace });
  const pods = startInformer({ ...options, type: podType, indexes: byNamespace });
  const slices = startInformer({
    ...options,
    type: endpointSliceType,
    labelSelector: serviceNameLabel,
    indexes: { service: (slice: Stored<EndpointSlice>) => [serviceKeyOf(slice)] },
  });
  services.onChange(({ key }) => onChange(key));
  slices.onChange(({ previous, current }) => {
    for (const slice of [previous, current]) if (slice) onChange(serviceKeyOf(slice));
  });
  pods.onChange(({ previous, current }) => {
    const { namespace = "" } = (current ?? previous)?.metadata ?? {};
    for (const service of services.store.by("namespace", namespace))
      if (service.spec?.selector && service.spec.clusterIP !== "None") onChange(keyOf(service));
  });
  const informers = [services, slices, pods];
  return {
    synced: Promise.all(informers.map(({ synced }) => synced)).then(() => {}),
    failed: firstFailure(...informers),
    routesTo(serviceKey) {
      const service = services.store.get(serviceKey);
      if (!service) return [];
      const selected = slicesOfSelected(service, pods.store.by("namespace", service.metadata.namespace ?? ""));
      return routesOf(service, [...slices.store.by("service", serviceKey), ...selected]);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(informers.map((informer) => informer[Symbol.asyncDispose]()));
    },
  };
}
