{{- define "_temporal-env.tpl" -}}
{{- $temporal := .Values.temporal -}}
- name: PAWL_TEMPORAL_ADDRESS
{{- if .Values.trial.enabled }}
  value: {{ include "_name.tpl" (dict "root" . "name" "trial-temporal") }}:7233
{{- else if $temporal.address }}
  value: {{ $temporal.address | quote }}
{{- else }}
  valueFrom:
    secretKeyRef:
      name: {{ include "_secret.tpl" . }}
      key: PAWL_TEMPORAL_ADDRESS
{{- end }}
- name: PAWL_TEMPORAL_NAMESPACE
  value: {{ $temporal.namespace | quote }}
{{- if $temporal.tls.enabled }}
- name: TEMPORAL_TLS
  value: "true"
{{- end }}
{{- if $temporal.tls.serverName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ $temporal.tls.serverName | quote }}
{{- end }}
{{- if $temporal.tls.authoritySecret }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /etc/pawl/temporal-authority/ca.crt
{{- end }}
{{- if $temporal.tls.clientSecret }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /etc/pawl/temporal-client/tls.crt
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /etc/pawl/temporal-client/tls.key
{{- end }}
{{- if $temporal.apiKeySecret }}
- name: PAWL_TEMPORAL_API_KEY_FILE
  value: /etc/pawl/temporal-api-key/api-key
{{- end }}
{{- end }}
