{{- define "_mounts.tpl" -}}
- name: tmp
  mountPath: /tmp
- name: keys
  mountPath: /etc/pawl/keys
  readOnly: true
{{- if .Values.secrets.certificates }}
- name: certificates
  mountPath: /etc/pawl/certificates
  readOnly: true
{{- end }}
{{- if .Values.temporal.tls.authoritySecret }}
- name: temporal-authority
  mountPath: /etc/pawl/temporal-authority
  readOnly: true
{{- end }}
{{- if .Values.temporal.tls.clientSecret }}
- name: temporal-client
  mountPath: /etc/pawl/temporal-client
  readOnly: true
{{- end }}
{{- if .Values.temporal.apiKeySecret }}
- name: temporal-api-key
  mountPath: /etc/pawl/temporal-api-key
  readOnly: true
{{- end }}
{{- end }}
