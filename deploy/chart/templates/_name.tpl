{{- define "_name.tpl" -}}
{{- $name := printf "%s-%s" (include "_fullname.tpl" .root) .name -}}
{{- $limit := .limit | default 63 | int -}}
{{- if gt (len $name) $limit -}}
{{- fail (printf "values: fullnameOverride: the name %s has %d characters; expected at most %d; set fullnameOverride to a shorter name" $name (len $name) $limit) -}}
{{- end -}}
{{ $name }}
{{- end }}
