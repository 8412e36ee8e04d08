{{- define "_deployment.tpl" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "_name.tpl" . }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "_labels.tpl" . | nindent 4 }}
spec:
{{- if not .autoscaled }}
  replicas: {{ .replicas }}
{{- end }}
  selector:
    matchLabels:
      {{- include "_labels.tpl" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "_labels.tpl" . | nindent 8 }}
{{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
{{- end }}
{{- if $values.podAnnotations }}
      annotations:
        {{- toYaml $values.podAnnotations | nindent 8 }}
{{- end }}
    spec:
      serviceAccountName: {{ include "_name.tpl" (dict "root" $root "name" .account) }}
      terminationGracePeriodSeconds: 30
{{- if $values.priorityClassName }}
      priorityClassName: {{ $values.priorityClassName }}
{{- end }}
{{- if $values.image.pullSecrets }}
      imagePullSecrets:
{{- range $values.image.pullSecrets }}
        - name: {{ . }}
{{- end }}
{{- end }}
{{- if $values.nodeSelector }}
      nodeSelector:
        {{- toYaml $values.nodeSelector | nindent 8 }}
{{- end }}
{{- if $values.tolerations }}
      tolerations:
        {{- toYaml $values.tolerations | nindent 8 }}
{{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "_labels.tpl" . | nindent 14 }}
      securityContext:
        {{- include "_pod-security.tpl" $root | nindent 8 }}
      containers:
        - name: {{ .process }}
          image: {{ include "_image.tpl" $root | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args:
            - {{ .process }}
            - --health-host=0.0.0.0
            - --health-port=8080
{{- range .flags }}
            - {{ . | quote }}
{{- end }}
{{- range .args }}
            - {{ . | quote }}
{{- end }}
          env:
            {{- .env | nindent 12 }}
          ports:
            - name: health
              containerPort: 8080
{{- if .port }}
            - name: https
              containerPort: {{ .port }}
{{- end }}
          readinessProbe:
            httpGet:
              path: /readyz
              port: health
            periodSeconds: 5
          livenessProbe:
            httpGet:
              path: /healthz
              port: health
            initialDelaySeconds: 30
          resources:
            {{- toYaml .resources | nindent 12 }}
          securityContext:
            {{- include "_container-security.tpl" $root | nindent 12 }}
          volumeMounts:
            {{- .mounts | nindent 12 }}
      volumes:
        {{- .volumes | nindent 8 }}
{{- end }}
