{{- define "_secret.tpl" -}}
{{- if .Values.trial.enabled -}}
{{ include "_name.tpl" (dict "root" . "name" "trial") }}
{{- else -}}
{{ .Values.secrets.name | default (include "_fullname.tpl" .) }}
{{- end -}}
{{- end }}
