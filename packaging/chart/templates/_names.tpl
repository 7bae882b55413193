{{- define "evenhand.name" -}}
{{- if contains "evenhand" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-evenhand{{ end }}
{{- end }}

{{- define "evenhand.selector" -}}
app.kubernetes.io/name: evenhand
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "evenhand.labels" -}}
{{ include "evenhand.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
