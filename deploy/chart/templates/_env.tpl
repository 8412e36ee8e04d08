{{- define "_env.tpl" -}}
{{- $secrets := .Values.secrets -}}
- name: PAWL_LOG_LEVEL
  value: {{ .Values.logLevel }}
- name: HOME
  value: /tmp
- name: PAWL_BUNDLE_CACHE
  value: /tmp/bundles
- name: PAWL_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "_secret.tpl" . }}
      key: PAWL_DATABASE_URL
- name: PAWL_CONTENT_KEY
  value: /etc/pawl/keys/{{ ternary "content.key" $secrets.contentKey .Values.trial.enabled }}
{{- if $secrets.payloadKey }}
- name: PAWL_PAYLOAD_KEY
  value: /etc/pawl/keys/{{ $secrets.payloadKey }}
{{- end }}
{{ include "_temporal-env.tpl" . }}
- name: CONTROLLER_NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
{{- end }}
