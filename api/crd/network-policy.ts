import { labelSelector } from "./selectors.ts";
import { described, int32, intOrString, listOf, object, plainListOf, text } from "./shapes.ts";

const peers = listOf(
  object({
    ipBlock: described("The rule matches these addresses.", object({ "cidr*": text, except: listOf(text) })),
    namespaceSelector: described("The rule matches Pods of namespaces with these labels.", labelSelector),
    podSelector: described("The rule matches Pods with these labels.", labelSelector),
  }),
);
const ports = listOf(object({ endPort: int32, port: intOrString, protocol: text }));

/** Rules of networking.k8s.io/v1. */
export const networkPolicy = object({
  egress: described(
    "Sandboxes may open the connections that one of the rules permits. Without a value, sandboxes may open no connection.",
    plainListOf(
      object({
        ports: described("The rule permits these ports. Without a value, the rule permits all ports.", ports),
        to: described(
          "The rule permits these destinations. Without a value, the rule permits all destinations.",
          peers,
        ),
      }),
    ),
  ),
  ingress: described(
    "Sandboxes accept the connections that one of the rules permits. Without a value, sandboxes accept no connection.",
    plainListOf(
      object({
        from: described("The rule permits these sources. Without a value, the rule permits all sources.", peers),
        ports: described("The rule permits these ports. Without a value, the rule permits all ports.", ports),
      }),
    ),
  ),
});
