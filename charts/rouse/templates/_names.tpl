{{/* Where everything is installed: namespaced objects name it, whatever the release's own. A release stays where it is. */}}
{{- define "rouse.namespace" -}}
{{ .Values.namespace.name | default (include "rouse.standing.namespace" .) | default .Release.Namespace }}
{{- end }}

{{/* The namespace of the controller that this release has installed before, with this chart or another; else nothing. */}}
{{- define "rouse.standing.namespace" -}}
{{- $binding := include "rouse.standing.binding" . | fromYaml -}}
{{- if eq $binding.release (include "rouse.release" .) -}}
{{ $binding.namespace }}
{{- end -}}
{{- end }}

{{- define "rouse.release" -}}
{{ .Release.Namespace }}/{{ .Release.Name }}
{{- end }}

{{/*
Where a controller stands, whoever has installed it, and of which release it is: its binding knows both, and there is one
in a cluster. Nothing where no cluster can be asked.
*/}}
{{- define "rouse.standing.binding" -}}
{{- $binding := lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "agent-sandbox-controller" | default dict -}}
{{- $subject := dig "subjects" list $binding | default list | first | default dict -}}
{{- $annotations := dig "metadata" "annotations" dict $binding | default dict -}}
{{- $name := get $annotations "meta.helm.sh/release-name" -}}
namespace: {{ get $subject "namespace" | quote }}
release: {{ if $name }}{{ printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") $name | quote }}{{ else }}""{{ end }}
{{- end }}

{{- define "rouse.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* What all of the controller's objects carry, and its Pods: tools of the ecosystem find them by it. */}}
{{- define "rouse.controller.identity" -}}
app: agent-sandbox-controller
{{- end }}

{{/* What selects the controller's Pods. It can never be changed, so that of a Deployment which another chart has made stays. */}}
{{- define "rouse.controller.selector" -}}
{{- $standing := lookup "apps/v1" "Deployment" (include "rouse.namespace" .) "agent-sandbox-controller" | default dict -}}
{{- $kept := dig "spec" "selector" "matchLabels" dict $standing -}}
{{- if $kept }}{{ toYaml $kept }}{{ else }}{{ include "rouse.controller.identity" . }}{{ end -}}
{{- end }}

{{- define "rouse.controller.name" -}}
{{ .Values.nameOverride | default "agent-sandbox-controller" }}
{{- end }}

{{- define "rouse.controller.labels" -}}
{{ include "rouse.controller.identity" . }}
app.kubernetes.io/name: {{ include "rouse.controller.name" . }}
{{ include "rouse.labels" . }}
{{- end }}

{{/* The labels of its Pods: of two that have one name, the selector's wins, then ours. */}}
{{- define "rouse.controller.podLabels" -}}
{{- $ours := include "rouse.controller.labels" . | fromYaml -}}
{{- merge (include "rouse.controller.selector" . | fromYaml) $ours (deepCopy .Values.podLabels) | toYaml -}}
{{- end }}

{{/* The NetworkPolicies of managed templates admit Pods with this label, in this namespace, and no others. */}}
{{- define "rouse.activator.selector" -}}
app: sandbox-router
{{- end }}

{{- define "rouse.activator.labels" -}}
{{ include "rouse.activator.selector" . }}
app.kubernetes.io/name: sandbox-router
app.kubernetes.io/component: sandbox-router
{{ include "rouse.labels" . }}
{{- end }}

{{/*
In CEL: whether the user is one whom the ClusterRoleBinding in params names. A name written here would miss a moved namespace.
A ClusterRoleBinding without subjects is no error: that would reject what the policy is not about.
*/}}
{{- define "rouse.userOfBinding" -}}
has(params.subjects) && params.subjects.exists(s, s.kind == 'ServiceAccount' && request.userInfo.username == 'system:serviceaccount:' + s.namespace + ':' + s.name)
{{- end }}

{{/*
How long the kubelet waits before it kills an activator: it accepts for drainSettleSeconds, carries for shutdownTimeoutSeconds,
ends by itself within 10 s more (endMarginMs in activator/shutdown.ts), and 5 s are for a busy node.
*/}}
{{- define "rouse.activator.graceSeconds" -}}
{{- add (include "rouse.activator.settleSeconds" .) .Values.activator.shutdownTimeoutSeconds 15 -}}
{{- end }}

{{/* Values that an older chart has left do not have it. */}}
{{- define "rouse.activator.settleSeconds" -}}
{{- dig "drainSettleSeconds" 5 .Values.activator -}}
{{- end }}

{{/* A digest names one image for ever, whatever the tag says. */}}
{{- define "rouse.image" -}}
{{- if .image.digest -}}
{{ printf "%s@%s" .image.repository .image.digest | quote }}
{{- else -}}
{{ printf "%s:%s" .image.repository (.image.tag | default .Chart.AppVersion) | quote }}
{{- end -}}
{{- end }}

{{/*
The namespace of the Lease that a controller with these .args elects its leader by; nothing if it runs without leader election.
.namespace is that of its Pods. The last flag counts, and without a flag there is an election.
*/}}
{{- define "rouse.controller.lease" -}}
{{- $elects := true -}}
{{- $namespace := "" -}}
{{- range .args -}}
{{- if regexMatch "^--?leader-elect(=(1|t|T|true|TRUE|True))?$" . }}{{ $elects = true }}{{ end -}}
{{- if regexMatch "^--?leader-elect=(0|f|F|false|FALSE|False)$" . }}{{ $elects = false }}{{ end -}}
{{- end -}}
{{- with regexFindAll "(?m)^--?leader-election-namespace[=\n].*$" (join "\n" .args) -1 -}}
{{- $namespace = last . | regexFind "[^=\n]*$" -}}
{{- end -}}
{{- if $elects }}{{ $namespace | default .namespace }}{{ end -}}
{{- end }}

{{- define "rouse.controller.ownLease" -}}
{{- $values := .Values.controller -}}
{{- $args := list (printf "--leader-elect=%v" $values.leaderElect) -}}
{{- $args = append $args (printf "--leader-election-namespace=%s" (get $values "leaderElectionNamespace")) -}}
{{- $args = concat $args ($values.extraArgs | default list) -}}
{{- include "rouse.controller.lease" (dict "args" $args "namespace" (include "rouse.namespace" .)) -}}
{{- end }}

{{/* Not empty where the controller runs without leader election, by the value or by a flag. */}}
{{- define "rouse.controller.alone" -}}
{{- if not (include "rouse.controller.ownLease" .) }}alone{{ end -}}
{{- end }}

{{/*
Not empty where the next controller does not wait for the one that stands: one of them runs without leader election, or they have
different Leases. Where no cluster can be asked, only the next one counts.
*/}}
{{- define "rouse.controller.clashes" -}}
{{- $namespace := include "rouse.namespace" . -}}
{{- $lease := include "rouse.controller.ownLease" . -}}
{{- $standing := lookup "apps/v1" "Deployment" $namespace "agent-sandbox-controller" | default dict -}}
{{- $container := dig "spec" "template" "spec" "containers" list $standing | first | default dict -}}
{{- $args := concat ($container.command | default list) ($container.args | default list) -}}
{{- $standingLease := include "rouse.controller.lease" (dict "args" $args "namespace" $namespace) -}}
{{- if or (not $lease) (and $standing (ne $lease $standingLease)) }}clashes{{ end -}}
{{- end }}

{{/* Annotations of an object, where there are some; values that an older chart has left do not have them. */}}
{{- define "rouse.annotations" -}}
{{- with (. | default dict).annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A PodDisruptionBudget: .values has podDisruptionBudget, .name and .selector are the Pods' own, .labels the object's. */}}
{{- define "rouse.disruptionBudget" -}}
{{- $budget := .values.podDisruptionBudget | default dict }}
{{- if dig "enabled" true $budget }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  maxUnavailable: {{ dig "maxUnavailable" 1 $budget }}
  selector:
    matchLabels:
      {{- .selector | nindent 6 }}
{{- end }}
{{- end }}

{{/* Not empty where memory is to be kept. Values that an older chart has left do not have it. */}}
{{- define "rouse.hibernation" -}}
{{- if dig "enabled" false (.Values.hibernation | default dict) }}enabled{{ end -}}
{{- end }}

{{- define "rouse.agent.selector" -}}
app: rouse-node-agent
{{- end }}

{{- define "rouse.agent.labels" -}}
{{ include "rouse.agent.selector" . }}
app.kubernetes.io/name: rouse-node-agent
app.kubernetes.io/component: rouse-node-agent
{{ include "rouse.labels" . }}
{{- end }}

{{/*
The agent is root, because the files of gVisor are those of root, and may send signals to any process of its node. It has to see which
files a process has open, to know the size of a Pod. Beyond that it needs none of the rights of root. AppArmor and SELinux forbid this to other
containers.
*/}}
{{- define "rouse.agent.security" -}}
{{- $own := dict "runAsUser" 0 "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true -}}
{{- $_ := set $own "capabilities" (dict "drop" (list "ALL") "add" (list "KILL" "SYS_PTRACE")) -}}
{{- $_ := set $own "appArmorProfile" (dict "type" "Unconfined") -}}
{{- $_ := set $own "seLinuxOptions" (dict "type" "spc_t") -}}
{{- toYaml (mergeOverwrite $own (deepCopy (.Values.hibernation.agent.containerSecurityContext | default dict))) -}}
{{- end }}

{{- define "rouse.tokenSecret" -}}
{{ .Values.auth.existingSecret | default "sandbox-router-token" }}
{{- end }}

{{/* What no value takes off unless it names it: the restricted Pod security standard. */}}
{{- define "rouse.podSecurity" -}}
{{- $own := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- toYaml (mergeOverwrite $own (deepCopy (.Values.podSecurityContext | default dict))) -}}
{{- end }}

{{- define "rouse.containerSecurity" -}}
{{- $own := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- toYaml (mergeOverwrite $own (deepCopy (.Values.containerSecurityContext | default dict))) -}}
{{- end }}

{{/* The flags of the controller that have a value of the like name, where it is set. Helm reads numbers as floats. */}}
{{- define "rouse.controller.flags" -}}
{{- $values := .Values.controller -}}
{{- range $key := list "leaderElectionNamespace" "enableTracing" "enablePprof" "enablePprofDebug" "pprofBlockProfileRate" "pprofMutexProfileFraction" "kubeApiQps" "kubeApiBurst" "apiConnections" "separateWatchConnection" "cacheLabelSelectors" "sandboxConcurrentWorkers" "sandboxWriteBehindWindow" "disableSandboxEvents" "sandboxClaimConcurrentWorkers" "disableClaimEvents" "disableClaimObservabilityAnnotations" "sandboxTemplateConcurrentWorkers" "sandboxWarmPoolConcurrentWorkers" "sandboxWarmPoolMaxBatchSize" "sandboxWarmPoolReplenishDelay" "sandboxWarmPoolMaxRefillRate" "sandboxWarmPoolReadinessGracePeriod" "sandboxWarmPoolUnschedulableRecheckInterval" "enableWarmPoolEviction" "metricsSecureServing" "tlsMinVersion" "tlsCipherSuites" "zapLogLevel" -}}
{{- if hasKey $values $key -}}
{{- $value := get $values $key -}}
{{- if and (kindIs "float64" $value) (eq (floor $value) $value) -}}
{{- $value = printf "%.0f" $value -}}
{{- end }}
- {{ printf "--%s=%v" (kebabcase $key) $value | quote }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Where Pods go: .values has priorityClassName, nodeSelector, tolerations and affinity, .selector is the Pods' own. */}}
{{- define "rouse.placement" -}}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- .selector | nindent 8 }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
