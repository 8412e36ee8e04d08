{{- define "_worker.tpl" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $flags := list (printf "--wings=%s" (ternary (join "," $values.wings) "none" (gt (len $values.wings) 0))) (printf "--cluster=%s" $values.cluster) (printf "--task-queue=%s/%s/%s" $values.cluster $root.Release.Namespace (include "_fullname.tpl" $root)) -}}
{{- if $values.controllers }}{{ $flags = append $flags (printf "--controllers=%s" (join "," $values.controllers)) }}{{ end -}}
{{- $mounts := include "_mounts.tpl" $root -}}
{{- $volumes := include "_volumes.tpl" $root -}}
{{- if $values.chaosConfig -}}
{{- $flags = append $flags "--chaos-config=/etc/pawl/chaos/config.yaml" -}}
{{- $mounts = printf "%s\n- name: chaos\n  mountPath: /etc/pawl/chaos\n  readOnly: true" $mounts -}}
{{- $volumes = printf "%s\n- name: chaos\n  configMap:\n    name: %s" $volumes (include "_name.tpl" (dict "root" $root "name" "chaos")) -}}
{{- end -}}
{{ include "_deployment.tpl" (dict "root" $root "name" .name "account" "worker" "process" "worker" "replicas" .replicas "autoscaled" .autoscaled "flags" $flags "args" .args "resources" .resources "env" (include "_env.tpl" $root) "mounts" $mounts "volumes" $volumes) }}
{{- end }}
