{{/* What all services are told, nothing secret: `config` goes before what the chart says, so that each name is there once. */}}
{{- define "footnote.settings" -}}
{{- $settings := include "footnote.ownSettings" . | fromYaml -}}
{{- range $key, $value := .Values.config -}}
{{- $_ := set $settings $key ($value | toString) -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{- define "footnote.ownSettings" -}}
{{- $name := include "footnote.name" . -}}
{{- range $stage, $port := include "footnote.ports" . | fromYaml }}
{{- if ne $stage "edge" }}
FOOTNOTE_{{ upper $stage }}_ADDRESS: {{ include "footnote.external" (dict "root" $ "stage" $stage) | default (printf "%s-%s:%v" $name $stage $port) }}
{{- end }}
{{- end }}
FOOTNOTE_VECTOR_STORE_URI: {{ include "footnote.milvusUri" . | quote }}
# Endpoints take a moment to forget a pod that ends.
FOOTNOTE_DRAIN_SECONDS: "5"
FOOTNOTE_METRICS_PORT: "9464"
{{- $hosts := list }}
{{- with .Values.ingress }}{{ if and .enabled .http.tlsSecret }}{{ $hosts = append $hosts .http.host }}{{ end }}{{ end }}
{{- with .Values.gateway }}{{ if and .enabled .http.tls }}{{ $hosts = concat $hosts .http.hostnames }}{{ end }}{{ end }}
{{- $origin := "" }}
{{- range $hosts }}{{ if and . (not $origin) (not (hasPrefix "*" .)) }}{{ $origin = printf "https://%s" . }}{{ end }}{{ end }}
{{- with $origin }}
FOOTNOTE_EDGE_PUBLIC_ORIGIN: {{ . | quote }}
{{- end }}
{{- if or .Values.ingress.enabled .Values.gateway.enabled }}
# All callers have the proxy's address; a few of edge's 512 connections stay free for others.
FOOTNOTE_EDGE_GRPC_CONNECTIONS_PER_PEER: "480"
FOOTNOTE_EDGE_HTTP_CONNECTIONS_PER_PEER: "480"
FOOTNOTE_EDGE_GRPC_CALLS_PER_SECOND: "5000"
{{- end }}
# So many fit into the limit of ingestion's memory: see `workers` in the values.
FOOTNOTE_INGESTION_TABLE_QUERIES: "2"
{{- with .Values.models }}
{{- with .embedding.provider }}
FOOTNOTE_EMBEDDING_PROVIDER: {{ . | quote }}
{{- end }}
{{- with .embedding.model }}
FOOTNOTE_EMBEDDING_MODEL: {{ . | quote }}
{{- end }}
{{- with .generation.provider }}
FOOTNOTE_GENERATION_PROVIDER: {{ . | quote }}
{{- end }}
{{- with .generation.model }}
FOOTNOTE_GENERATION_MODEL: {{ . | quote }}
{{- end }}
{{- end }}
{{- if .Values.mtls.enabled }}
FOOTNOTE_TLS_CERT_FILE: /tls/tls.crt
FOOTNOTE_TLS_KEY_FILE: /tls/tls.key
FOOTNOTE_TLS_CA_FILE: /tls/ca.crt
FOOTNOTE_TLS_CLIENT_AUTH: "true"
{{- $peers := list }}
{{- range $stage := keys (include "footnote.ports" . | fromYaml) | sortAlpha }}
{{- $elsewhere := include "footnote.external" (dict "root" $ "stage" $stage) }}
{{- $peers = append $peers (regexReplaceAll ":[0-9]+$" $elsewhere "" | default (printf "%s-%s" $name $stage)) }}
{{- end }}
FOOTNOTE_TLS_PEERS: {{ join "," $peers }}
{{- end }}
{{- with .Values.otel.endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The variables of one service: a key belongs to the services that call its provider, and to no others. */}}
{{- define "footnote.envFrom" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .stage -}}
- configMapRef: {name: {{ include "footnote.name" .root }}}
{{- if and $values.models.embedding.existingSecret (has .stage (list "indexing" "retrieval" "augmentation")) }}
- secretRef: {name: {{ $values.models.embedding.existingSecret }}}
{{- end }}
{{- if and $values.models.generation.existingSecret (eq .stage "generation") }}
- secretRef: {name: {{ $values.models.generation.existingSecret }}}
{{- end }}
{{- if and $values.models.reranker.existingSecret (eq .stage "augmentation") }}
- secretRef: {name: {{ $values.models.reranker.existingSecret }}}
{{- end }}
{{- if and $values.objectStorage.existingSecret (eq .stage "ingestion") }}
- secretRef: {name: {{ $values.objectStorage.existingSecret }}}
{{- end }}
{{- range $own.secrets }}
- secretRef: {name: {{ . }}}
{{- end }}
{{- end -}}

{{/* The variables of one service; its own `env` goes before what the chart says, so that each name is there once. */}}
{{- define "footnote.env" -}}
{{- $own := (index .root.Values .stage).env -}}
{{- range include "footnote.ownEnv" . | fromYamlArray }}
{{- if not (hasKey $own .name) }}
- {{ toJson . }}
{{- end }}
{{- end }}
{{- range $key, $value := $own }}
- {name: {{ $key }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end -}}

{{- define "footnote.ownEnv" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .stage -}}
# By this the services know one another; a pod waits until the Secret is there.
- name: FOOTNOTE_SERVICE_TOKEN
  valueFrom: {secretKeyRef: {name: {{ include "footnote.serviceTokenSecret" .root }}, key: token}}
{{- if and (ne $values.postgresql.mode "none") (has .stage (list "edge" "ingestion" "indexing")) }}
- name: FOOTNOTE_{{ upper .stage }}_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ include "footnote.postgresqlSecret" .root }}, key: uri}}
{{- end }}
{{- if and $values.milvus.existingSecret (has .stage (list "indexing" "retrieval")) }}
- name: FOOTNOTE_VECTOR_STORE_TOKEN
  valueFrom: {secretKeyRef: {name: {{ $values.milvus.existingSecret }}, key: token}}
{{- end }}
{{- if and $values.redis.existingSecret (eq .stage "indexing") }}
- name: FOOTNOTE_INDEXING_CACHE_URL
  valueFrom: {secretKeyRef: {name: {{ $values.redis.existingSecret }}, key: uri}}
{{- end }}
{{- if eq .stage "ingestion" }}
# With the processes that read and check files, below the limit: see `workers` in the values.
- {name: FOOTNOTE_INGESTION_WORKERS, value: {{ $own.workers | quote }}}
{{- with $values.objectStorage.url }}
- {name: FOOTNOTE_INGESTION_BLOB_URL, value: {{ . | quote }}}
{{- end }}
{{- with $values.objectStorage.options }}
- {name: FOOTNOTE_INGESTION_BLOB_OPTIONS, value: {{ toJson . | quote }}}
{{- end }}
{{- end }}
{{- if eq .stage "edge" }}
- {name: FOOTNOTE_EDGE_AUTH, value: {{ $own.auth | quote }}}
# What its jobs are marked with; those it leaves unfinished are taken over by whichever replica is left.
- {name: FOOTNOTE_EDGE_EXECUTOR_ID, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
{{- end }}
{{- end -}}
