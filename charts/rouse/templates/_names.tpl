{{/* Where everything is installed: namespaced objects name it, whatever the release's own. */}}
{{- define "rouse.namespace" -}}
{{ .Values.namespace.name | default .Release.Namespace }}
{{- end }}

{{- define "rouse.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* What selects the controller's Pods: tools of the ecosystem find them by it. A selector can never be changed. */}}
{{- define "rouse.controller.selector" -}}
app: agent-sandbox-controller
{{- end }}

{{- define "rouse.controller.name" -}}
{{ .Values.nameOverride | default "agent-sandbox-controller" }}
{{- end }}

{{- define "rouse.controller.labels" -}}
{{ include "rouse.controller.selector" . }}
app.kubernetes.io/name: {{ include "rouse.controller.name" . }}
{{ include "rouse.labels" . }}
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

{{- define "rouse.activator.user" -}}
system:serviceaccount:{{ include "rouse.namespace" . }}:sandbox-router
{{- end }}

{{- define "rouse.image" -}}
{{ printf "%s:%s" .image.repository (.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}

{{- define "rouse.tokenSecret" -}}
{{ .Values.auth.existingSecret | default "sandbox-router-token" }}
{{- end }}

{{/* What no value takes off unless it names it: the restricted Pod security standard. */}}
{{- define "rouse.podSecurity" -}}
{{- $own := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- toYaml (mergeOverwrite $own (deepCopy .Values.podSecurityContext)) -}}
{{- end }}

{{- define "rouse.containerSecurity" -}}
{{- $own := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- toYaml (mergeOverwrite $own (deepCopy .Values.containerSecurityContext)) -}}
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

{{/* Where Pods go: .values has nodeSelector, tolerations and affinity, .selector is the Pods' own. */}}
{{- define "rouse.placement" -}}
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
