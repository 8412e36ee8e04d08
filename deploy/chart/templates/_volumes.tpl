{{- define "_volumes.tpl" -}}
{{- $secrets := .Values.secrets -}}
{{- $temporal := .Values.temporal -}}
- name: tmp
  emptyDir: {}
- name: keys
  secret:
    secretName: {{ include "_secret.tpl" . }}
    defaultMode: 288
    items:
      - key: {{ ternary "content.key" $secrets.contentKey .Values.trial.enabled }}
        path: {{ ternary "content.key" $secrets.contentKey .Values.trial.enabled }}
{{- if $secrets.payloadKey }}
      - key: {{ $secrets.payloadKey }}
        path: {{ $secrets.payloadKey }}
{{- end }}
{{- if $secrets.certificates }}
- name: certificates
  secret:
    secretName: {{ $secrets.certificates }}
    defaultMode: 288
{{- end }}
{{- if $temporal.tls.authoritySecret }}
- name: temporal-authority
  secret:
    secretName: {{ $temporal.tls.authoritySecret }}
    defaultMode: 288
{{- end }}
{{- if $temporal.tls.clientSecret }}
- name: temporal-client
  secret:
    secretName: {{ $temporal.tls.clientSecret }}
    defaultMode: 288
{{- end }}
{{- if $temporal.apiKeySecret }}
- name: temporal-api-key
  secret:
    secretName: {{ $temporal.apiKeySecret }}
    defaultMode: 288
{{- end }}
{{- end }}
