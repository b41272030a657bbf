/** kwok's stages: nodes and their Pods become ready, and end, at once. */
export const kwokStages = (podsEach: number): readonly object[] => [
  stage("node-ready", "Node", {
    selector: [{ key: ready, operator: "NotIn", values: ["True"] }],
    next: { statusTemplate: nodeStatus(podsEach) },
  }),
  stage("pod-ready", "Pod", {
    selector: [
      { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" },
      { key: ready, operator: "NotIn", values: ["True"] },
    ],
    next: { statusTemplate: podStatus },
  }),
  stage("pod-gone", "Pod", {
    selector: [{ key: ".metadata.deletionTimestamp", operator: "Exists" }],
    next: { delete: true },
  }),
];

const ready = '.status.conditions.[] | select( .type == "Ready" ) | .status';

const stage = (
  name: string,
  kind: string,
  { selector, next }: { readonly selector: object; readonly next: object },
) => ({
  apiVersion: "kwok.x-k8s.io/v1alpha1",
  kind: "Stage",
  metadata: { name },
  spec: { resourceRef: { apiGroup: "v1", kind }, selector: { matchExpressions: selector }, next },
});

const conditions = (...types: readonly string[]) => `conditions:
${types.map((type) => `- {type: ${type}, status: "True", reason: Simulated, lastTransitionTime: {{ Now | Quote }}}`).join("\n")}`;

const nodeStatus = (podsEach: number) => `
${conditions("Ready")}
capacity: {cpu: "10000", memory: 10Ti, pods: "${podsEach}"}
allocatable: {cpu: "10000", memory: 10Ti, pods: "${podsEach}"}
`;

const podStatus = `
${conditions("Initialized", "ContainersReady", "Ready")}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ Now | Quote }}}}
{{ end }}
{{ if not .status.podIP }}
{{ with PodIPsWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs:
{{ range . }}
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
startTime: {{ Now | Quote }}
{{ end }}
phase: Running
`;
