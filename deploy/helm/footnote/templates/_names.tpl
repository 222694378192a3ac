{{/* Names, labels and the table of the services. */}}
{{- define "footnote.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "footnote.ports" -}}
edge: 7100
ingestion: 7101
indexing: 7102
retrieval: 7103
augmentation: 7104
generation: 7105
{{- end -}}

{{/* The stages that this release runs, with their ports: those without an external address. */}}
{{- define "footnote.stages" -}}
{{- range $stage, $port := include "footnote.ports" . | fromYaml }}
{{- if not (include "footnote.external" (dict "root" $ "stage" $stage)) }}
{{ $stage }}: {{ $port }}
{{- end }}
{{- end }}
{{- end -}}

{{/* host:port of a stage that runs elsewhere, "" of one that this release runs. */}}
{{- define "footnote.external" -}}
{{- ((index .root.Values .stage).external | default dict).address | default "" -}}
{{- end -}}

{{/* "true" for a stage of another make: an image of its own. */}}
{{- define "footnote.foreign" -}}
{{- if (index .root.Values .stage).image -}}true{{- end -}}
{{- end -}}

{{- define "footnote.selector" -}}
app.kubernetes.io/name: footnote
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .stage }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "footnote.labels" -}}
{{ include "footnote.selector" . }}
app.kubernetes.io/part-of: footnote
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "footnote.image" -}}
{{- if include "footnote.foreign" . -}}
{{ (index .root.Values .stage).image }}
{{- else -}}
{{- with .root.Values.image -}}
{{ .repository }}{{ if .perService }}-{{ $.stage }}{{ end }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.root.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "footnote.serviceTokenSecret" -}}
{{- .Values.serviceToken.existingSecret | default (printf "%s-services" (include "footnote.name" .)) -}}
{{- end -}}

{{- define "footnote.postgresqlSecret" -}}
{{- if eq .Values.postgresql.mode "cloudnativepg" -}}
{{ include "footnote.name" . }}-postgresql-app
{{- else -}}
{{ .Values.postgresql.existingSecret }}
{{- end -}}
{{- end -}}

{{- define "footnote.milvusUri" -}}
{{- if eq .Values.milvus.mode "operator" -}}
http://{{ include "footnote.name" . }}-milvus.{{ .Values.milvus.operator.namespace }}.svc:19530
{{- else -}}
{{ .Values.milvus.uri }}
{{- end -}}
{{- end -}}

{{/* "true" where the service keeps something on a volume of its own, "" where it does not. */}}
{{- define "footnote.keeps" -}}
{{- $database := eq .root.Values.postgresql.mode "none" -}}
{{- if or (and (eq .stage "edge") $database) (and (eq .stage "indexing") $database) (and (eq .stage "ingestion") (or $database (not .root.Values.objectStorage.url))) -}}
true
{{- end -}}
{{- end -}}

{{/* Edge's pods have stable names, by which jobs know their replica; a service that keeps something needs its volume back. */}}
{{- define "footnote.kind" -}}
{{- if or (eq .stage "edge") (include "footnote.keeps" .) -}}StatefulSet{{- else -}}Deployment{{- end -}}
{{- end -}}

{{/* The services that call providers of models, or the issuer of tokens: a YAML list. */}}
{{- define "footnote.callers" -}}
{{- $values := .Values -}}
{{- $here := list "" "auto" "builtin" "e5" "onnx" "none" -}}
{{- $who := list -}}
{{- if or $values.models.embedding.existingSecret (not (has $values.models.embedding.provider $here)) -}}{{- $who = concat $who (list "indexing" "retrieval" "augmentation") -}}{{- end -}}
{{- if or $values.models.generation.existingSecret (not (has $values.models.generation.provider $here)) -}}{{- $who = append $who "generation" -}}{{- end -}}
{{- if $values.models.reranker.existingSecret -}}{{- $who = append $who "augmentation" -}}{{- end -}}
{{- if contains "jwt" $values.edge.auth -}}{{- $who = append $who "edge" -}}{{- end -}}
{{- range $stage := list "indexing" "retrieval" "augmentation" "generation" -}}
{{- if (index $values $stage).secrets -}}{{- $who = append $who $stage -}}{{- end -}}
{{- end -}}
{{- $who | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/* The addresses of providers, of a token issuer and of a web proxy that a service calls; edge calls no model. */}}
{{- define "footnote.addressesOf" -}}
{{- $kinds := dict "edge" "JWKS" "augmentation" "BASE|RERANK" "ingestion" "NONE" -}}
{{- $names := printf "_(%s)_URL$|^HTTPS?_PROXY$" (get $kinds .stage | default "BASE") -}}
{{- $found := list -}}
{{- if or (has .stage (list "indexing" "retrieval" "augmentation" "generation")) (and (eq .stage "edge") (contains "jwt" .root.Values.edge.auth)) (and (eq .stage "ingestion") .root.Values.objectStorage.url) -}}
{{- range $key, $value := merge (dict) (index .root.Values .stage).env .root.Values.config -}}
{{- if and $value (regexMatch $names $key) -}}{{- $found = append $found (printf "%s%v" (ternary "" "http://" (contains "://" ($value | toString))) $value) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $found | uniq | toJson -}}
{{- end -}}

{{/* Where the certificates for the stores that a service uses lie, and the Secrets that have them. */}}
{{- define "footnote.stores" -}}
{{- $values := .root.Values -}}
{{- if and $values.milvus.tlsSecret (has .stage (list "indexing" "retrieval")) }}
milvus: {{ $values.milvus.tlsSecret }}
{{- end }}
{{- if and $values.postgresql.tlsSecret (has .stage (list "edge" "ingestion" "indexing")) }}
pg: {{ $values.postgresql.tlsSecret }}
{{- end }}
{{- if and $values.redis.tlsSecret (eq .stage "indexing") }}
redis: {{ $values.redis.tlsSecret }}
{{- end }}
{{- end -}}

{{/* The port of a URL: the one it names, else its scheme's. */}}
{{- define "footnote.portOf" -}}
{{- $host := (urlParse .).host -}}
{{- if regexMatch ":[0-9]+$" $host -}}{{ regexFind "[0-9]+$" $host }}{{- else if hasPrefix "http://" . -}}80{{- else -}}443{{- end -}}
{{- end -}}

{{/* The port of Milvus, whose own is another than http's. */}}
{{- define "footnote.milvusPort" -}}
{{- $uri := include "footnote.milvusUri" . -}}
{{- if regexMatch "^http://[^/]*:[0-9]+([/?]|$)" $uri -}}{{ include "footnote.portOf" $uri }}{{- else if hasPrefix "http://" $uri -}}19530{{- else -}}{{ include "footnote.portOf" $uri }}{{- end -}}
{{- end -}}

{{/*
How the health of a pod is asked: the image's own small program, which speaks mTLS where the services do. An image of
another make need not have it: the kubelet asks by itself, which it can without mTLS only.
*/}}
{{- define "footnote.probe" -}}
{{- $port := index (include "footnote.ports" . | fromYaml) .stage -}}
grpc_health_probe -addr=127.0.0.1:{{ $port }} -connect-timeout=3s -rpc-timeout=3s
{{- if .root.Values.mtls.enabled }} -tls -tls-ca-cert=/tls/ca.crt -tls-client-cert=/tls/tls.crt -tls-client-key=/tls/tls.key -tls-server-name=localhost{{ end }}
{{- end -}}

{{/*
The handler of a probe: "serving" wants the service able to work, "answering" an answer, whatever it says (4: "not
serving"), and so does "life". The kubelet's own probe cannot tell the two apart, and must not end a pod that is degraded.
*/}}
{{- define "footnote.handler" -}}
{{- $command := include "footnote.probe" . -}}
{{- if ne .wants "serving" -}}
{{- $command = printf "%s; code=$?; [ $code = 0 ] || [ $code = 4 ]" $command -}}
{{- end -}}
{{- if and (include "footnote.foreign" .) (not .root.Values.mtls.enabled) -}}
{{ ternary "tcpSocket" "grpc" (eq .wants "life") }}: {port: {{ index (include "footnote.ports" .root | fromYaml) .stage }}}
{{- else -}}
exec: {command: [sh, -c, {{ $command | quote }}]}
{{- end -}}
{{- end -}}
