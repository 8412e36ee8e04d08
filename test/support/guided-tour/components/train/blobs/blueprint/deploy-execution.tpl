{{- $parts := dict }}
{{- $tools := dict }}
{{- range $component := .components.components }}
  {{- range $resource := $component.component.resources }}
    {{- range $resource.labels }}
      {{- if eq .name "example.org/part" }}
        {{- $_ := set $parts .value $resource }}
      {{- else if eq .name "example.org/tool" }}
        {{- $_ := set $tools .value $resource }}
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}

{{- define "split" }}
  {{- $host := splitn "/" 2 .of }}
  {{- $rest := splitn ":" 2 $host._1 }}
  {{ printf "host: %s" $host._0 | indent .by }}
  {{ printf "repository: %s" $rest._0 | indent .by }}
  {{ printf "tag: %q" $rest._1 | indent .by }}
{{- end }}

deployItems:
  - name: list
    type: landscaper.gardener.cloud/kubernetes-manifest
    target:
      import: cluster
    config:
      apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
      kind: ProviderConfiguration
      updateStrategy: update
      manifests:
        - policy: manage
          manifest:
            apiVersion: v1
            kind: ConfigMap
            metadata:
              name: train
              namespace: {{ .imports.cluster.metadata.namespace }}
            data:
              component: {{ .cd.component.name }}
              tons: {{ .imports.load.tons | quote }}
              parts: |
                {{- range $name, $resource := $parts }}
                {{ $name }}:
                  {{- template "split" (dict "of" $resource.access.imageReference "by" 16) }}
                {{- end }}
              tools: {{ keys $tools | join "," }}
