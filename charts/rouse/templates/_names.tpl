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

{{- define "rouse.controller.labels" -}}
{{ include "rouse.controller.selector" . }}
app.kubernetes.io/name: agent-sandbox-controller
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
system:serviceaccount:{{ .Release.Namespace }}:sandbox-router
{{- end }}

{{- define "rouse.image" -}}
{{ printf "%s:%s" .image.repository (.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}

{{- define "rouse.tokenSecret" -}}
{{ .Values.auth.existingSecret | default "sandbox-router-token" }}
{{- end }}

{{- define "rouse.podSecurity" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "rouse.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
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
