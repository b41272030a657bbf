import type { ContractApi } from "./contract-api.ts";

/** The namespace of the objects of the contract tests. */
export const configMapsOf = ({ namespace }: ContractApi): string => `/api/v1/namespaces/${namespace}/configmaps`;
export const podsOf = ({ namespace }: ContractApi): string => `/api/v1/namespaces/${namespace}/pods`;
export const sandboxesOf = ({ namespace }: ContractApi): string =>
  `/apis/agents.x-k8s.io/v1beta1/namespaces/${namespace}/sandboxes`;
export const warmPoolsOf = ({ namespace }: ContractApi): string =>
  `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${namespace}/sandboxwarmpools`;

export const aConfigMap = (name: string, rest: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { color: "blue" },
  ...rest,
});

const container = { name: "main", image: "busybox", command: ["sleep", "3600"] };

export const aSandbox = (name: string, spec: object = {}) => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name },
  spec: { podTemplate: { spec: { containers: [container] } }, ...spec },
});

/** A Pod that no scheduler looks at: it is never bound to a node, and gets no conditions of a scheduler. */
export const aPod = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [container], schedulerName: "nobody", ...spec },
});

export const aWarmPool = (name: string, replicas: number) => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  metadata: { name },
  spec: { replicas, sandboxTemplateRef: { name: "anything" } },
});
