{{- define "_fullname.tpl" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) -}}
{{- end }}
