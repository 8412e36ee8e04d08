{{- define "_labels.tpl" -}}
app.kubernetes.io/name: pawl-{{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/part-of: pawl
{{- end }}
