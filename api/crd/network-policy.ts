import { labelSelector } from "./selectors.ts";
import { described, int32, intOrString, listOf, object, plainListOf, text } from "./shapes.ts";

const peers = listOf(
  object({
    ipBlock: described("Addresses.", object({ "cidr*": text, except: listOf(text) })),
    namespaceSelector: described("Namespaces by label.", labelSelector),
    podSelector: described("Pods by label.", labelSelector),
  }),
);
const ports = listOf(object({ endPort: int32, port: intOrString, protocol: text }));

/** Rules of networking.k8s.io/v1. */
export const networkPolicy = object({
  egress: described(
    "Allowed outgoing connections of sandboxes. If absent, none.",
    plainListOf(
      object({
        ports: described("Ports; if absent, all.", ports),
        to: described("Destinations; if absent, all.", peers),
      }),
    ),
  ),
  ingress: described(
    "Allowed incoming connections to sandboxes. If absent, none.",
    plainListOf(
      object({
        from: described("Sources; if absent, all.", peers),
        ports: described("Ports; if absent, all.", ports),
      }),
    ),
  ),
});
