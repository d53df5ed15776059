{{- /*
An object of the kustomize bases as this release has it. It does what deploy/default/kustomization.yaml does, the prefix and the
namespace, and adds what the values ask for. Names do not depend on the release's: what documents say of genericjob-manager holds
for everybody.

root: the top of the values; object: what becomes of it is written into it; namespace: where it goes, if not into the release's.
*/ -}}
{{- define "genericjob.object" }}
{{- $o := .object }}
{{- $meta := $o.metadata }}
{{- if not (has $o.kind (list "CustomResourceDefinition" "TrainingFramework")) }}
  {{- $_ := set $meta "name" (include "genericjob.name" $meta.name) }}
{{- end }}
{{- if .namespace }}
  {{- $_ := set $meta "namespace" .namespace }}
{{- else if $meta.namespace }}
  {{- $_ := set $meta "namespace" .root.Release.Namespace }}
{{- end }}
{{- with $o.roleRef }}
  {{- $_ := set . "name" (include "genericjob.name" .name) }}
{{- end }}
{{- range $o.subjects }}
  {{- if has .namespace (list "system" "genericjob-system") }}
    {{- $_ := set . "name" (include "genericjob.name" .name) }}
    {{- $_ := set . "namespace" $.root.Release.Namespace }}
  {{- end }}
{{- end }}
{{- $own := dict "app.kubernetes.io/name" "genericjob" "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") }}
{{- $_ := set $meta "labels" (merge $own ($meta.labels | default dict) .root.Values.labels) }}
{{- with merge ($meta.annotations | default dict) .root.Values.annotations }}
  {{- $_ := set $meta "annotations" . }}
{{- end }}
---
{{ toYaml $o }}
{{- end }}

{{- define "genericjob.name" -}}
{{ or (eq "genericjob" .) (hasPrefix "genericjob-" .) | ternary . (printf "genericjob-%s" .) }}
{{- end }}
