{{- define "_fullname.tpl" -}}
{{ ternary .Release.Name (printf "%s-pawl" .Release.Name) (contains "pawl" .Release.Name) }}
{{- end }}
