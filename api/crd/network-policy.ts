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
    "What sandboxes may connect to. Without it nothing is allowed.",
    plainListOf(
      object({
        ports: described("On which ports; without it all.", ports),
        to: described("Whom; without it all.", peers),
      }),
    ),
  ),
  ingress: described(
    "Who may connect to sandboxes. Without it nobody is allowed.",
    plainListOf(
      object({
        from: described("Who; without it all.", peers),
        ports: described("On which ports; without it all.", ports),
      }),
    ),
  ),
});
