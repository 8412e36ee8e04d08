{{- define "_migrate-spec.tpl" -}}
backoffLimit: 6
ttlSecondsAfterFinished: 600
template:
  metadata:
    labels:
      {{- include "_labels.tpl" (dict "root" . "name" "migrate") | nindent 6 }}
{{- with .Values.podLabels }}
      {{- toYaml . | nindent 6 }}
{{- end }}
  spec:
    restartPolicy: OnFailure
    automountServiceAccountToken: false
{{- if .Values.image.pullSecrets }}
    imagePullSecrets:
{{- range .Values.image.pullSecrets }}
      - name: {{ . }}
{{- end }}
{{- end }}
{{- if .Values.nodeSelector }}
    nodeSelector:
      {{- toYaml .Values.nodeSelector | nindent 6 }}
{{- end }}
{{- if .Values.tolerations }}
    tolerations:
      {{- toYaml .Values.tolerations | nindent 6 }}
{{- end }}
    securityContext:
      {{- include "_pod-security.tpl" . | nindent 6 }}
    containers:
      - name: migrate
        image: {{ include "_image.tpl" . | quote }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        args:
          - migrate
          - up
        env:
          {{- include "_env.tpl" . | nindent 10 }}
        resources:
          requests: { cpu: 50m, memory: 192Mi }
        securityContext:
          {{- include "_container-security.tpl" . | nindent 10 }}
        volumeMounts:
          {{- include "_mounts.tpl" . | nindent 10 }}
    volumes:
      {{- include "_volumes.tpl" . | nindent 6 }}
{{- end }}
