{{/* What the schema cannot say: values that do not fit one another are refused with a sentence. */}}
{{- define "footnote.check" -}}
{{- $values := .Values -}}
{{- range $stage := list "edge" "ingestion" "indexing" -}}
{{- $own := index $values $stage -}}
{{- $many := or (gt (int $own.replicas) 1) $own.autoscaling.enabled -}}
{{- if and $many (include "footnote.keeps" (dict "root" $ "stage" $stage)) -}}
{{- $needs := ternary "postgresql.mode external or cloudnativepg, and objectStorage.url" "postgresql.mode external or cloudnativepg" (eq $stage "ingestion") -}}
{{- fail (printf "%s keeps its state on a volume that one pod can have: for more than one replica set %s" $stage $needs) -}}
{{- end -}}
{{- end -}}
{{- range $stage := keys (include "footnote.ports" . | fromYaml) -}}
{{- $own := index $values $stage -}}
{{- if and $own.autoscaling.enabled (gt (int $own.autoscaling.minReplicas) (int $own.autoscaling.maxReplicas)) -}}
{{- fail (printf "%s.autoscaling.minReplicas is more than maxReplicas" $stage) -}}
{{- end -}}
{{- if and $own.autoscaling.enabled (eq (toString $own.replicas) "0") -}}
{{- fail (printf "%s.replicas=0 does not stop %s while %s.autoscaling.enabled: leave one of them out" $stage $stage $stage) -}}
{{- end -}}
{{- end -}}
{{- range $stage := list "ingestion" "indexing" "retrieval" "augmentation" "generation" -}}
{{- $own := index $values $stage -}}
{{- if and $own.external.address (or $own.image $own.autoscaling.enabled) -}}
{{- fail (printf "%s.external.address says that it runs elsewhere: leave %s.image and %s.autoscaling out" $stage $stage $stage) -}}
{{- end -}}
{{- if and $own.external.peers (not $own.external.address) -}}
{{- fail (printf "%s.external.peers has no effect without %s.external.address" $stage $stage) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $values.config "FOOTNOTE_METRICS_PORT" -}}
{{- fail "config.FOOTNOTE_METRICS_PORT cannot be changed: the pods' port and the network policies are 9464" -}}
{{- end -}}
{{- if and (eq $values.milvus.mode "external") (not $values.milvus.uri) -}}
{{- fail "milvus.uri is empty: give the address of your Milvus or Zilliz, or let the operator make one with milvus.mode=operator" -}}
{{- end -}}
{{- if and (eq $values.milvus.mode "operator") (eq $values.milvus.operator.namespace .Release.Namespace) -}}
{{- fail "milvus.operator.namespace is this release's own, which enforces the restricted pod standard that Milvus does not keep: give it another" -}}
{{- end -}}
{{- if and (eq $values.postgresql.mode "external") (not $values.postgresql.existingSecret) -}}
{{- fail "postgresql.existingSecret is empty: name the Secret whose key `uri` is postgresql://…" -}}
{{- end -}}
{{- if and $values.milvus.tlsSecret (or (ne $values.milvus.mode "external") (not (contains "=/milvus/" $values.milvus.uri))) -}}
{{- fail "milvus.tlsSecret has no effect: name its files in milvus.uri, https://host:19530?ca_pem_path=/milvus/ca.crt&client_pem_path=/milvus/tls.crt&client_key_path=/milvus/tls.key" -}}
{{- end -}}
{{- if and $values.postgresql.tlsSecret (eq $values.postgresql.mode "none") -}}
{{- fail "postgresql.tlsSecret has no effect with postgresql.mode=none" -}}
{{- end -}}
{{- if and $values.redis.tlsSecret (not $values.redis.existingSecret) -}}
{{- fail "redis.tlsSecret has no effect without redis.existingSecret, whose key `uri` names its files" -}}
{{- end -}}
{{- if and (not $values.serviceToken.create) (not $values.serviceToken.existingSecret) -}}
{{- fail "serviceToken.existingSecret is empty: name a Secret with the key `token`, or let serviceToken.create make one" -}}
{{- end -}}
{{- range $what, $remote := dict "embedding" (list "openai" "gemini") "generation" (list "openai" "gemini" "anthropic") -}}
{{- $model := index $values.models $what -}}
{{- $elsewhere := false -}}
{{- range $variables := list $values.config (ternary $values.generation.env (merge (dict) $values.indexing.env $values.retrieval.env) (eq $what "generation")) -}}
{{- range $name := list (printf "FOOTNOTE_%s_BASE_URL" (upper $model.provider)) (printf "%s_BASE_URL" (upper $model.provider)) -}}
{{- if get $variables $name -}}{{- $elsewhere = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (has $model.provider $remote) (not $model.existingSecret) (not $elsewhere) -}}
{{- fail (printf "models.%s.existingSecret is empty: %s wants a key, so name the Secret that has it as a variable" $what $model.provider) -}}
{{- end -}}
{{- end -}}
{{- if and (contains "jwt" $values.edge.auth) (not $values.edge.env.FOOTNOTE_EDGE_JWT_JWKS_URL) -}}
{{- fail "edge.auth has jwt: set FOOTNOTE_EDGE_JWT_JWKS_URL in edge.env to where the issuer publishes its keys" -}}
{{- end -}}
{{- if and $values.image.perService $values.image.digest -}}
{{- fail "image.digest is of one image, and image.perService has six: set image.tag" -}}
{{- end -}}
{{- if and $values.gateway.enabled (not $values.gateway.name) -}}
{{- fail "gateway.name is empty: name the Gateway that the routes attach to" -}}
{{- end -}}
{{- if and $values.gateway.enabled $values.mtls.enabled (not $values.mtls.gatewayCaConfigMap) -}}
{{- fail "with mTLS the Gateway must know edge's authority: put its ca.crt into a ConfigMap and name it in mtls.gatewayCaConfigMap" -}}
{{- end -}}
{{- if and $values.ingress.enabled (not (or $values.ingress.grpc.host $values.ingress.http.host)) -}}
{{- fail "ingress.grpc.host and ingress.http.host are both empty: name at least one" -}}
{{- end -}}
{{- if and $values.ingress.enabled $values.networkPolicy.enabled (not $values.networkPolicy.clients) -}}
{{- fail "networkPolicy.clients is empty, so what comes through the ingress is dropped: name the namespace of the ingress controller there, or set networkPolicy.enabled to false where another policy admits it or none is enforced" -}}
{{- end -}}
{{- if and $values.ingress.enabled $values.mtls.enabled -}}
{{- range $what, $protocol := dict "grpc" "GRPCS" "http" "HTTPS" -}}
{{- $one := index $values.ingress $what -}}
{{- $said := merge (dict) $one.annotations $values.ingress.annotations -}}
{{- $nginx := "nginx.ingress.kubernetes.io" -}}
{{- $knows := and (eq (get $said (printf "%s/backend-protocol" $nginx)) $protocol) (get $said (printf "%s/proxy-ssl-secret" $nginx)) -}}
{{- if and $one.host (not $knows) (ne (get $said (printf "%s/ssl-passthrough" $nginx)) "true") -}}
{{- fail (printf "with mTLS edge speaks TLS alone and asks the ingress controller for a certificate: set %s/backend-protocol: %s and %s/proxy-ssl-secret (NAMESPACE/SECRET) in ingress.%s.annotations; for a controller other than nginx, where they have no effect, its own besides" $nginx $protocol $nginx $what) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $values.externalSecrets.enabled (not $values.externalSecrets.store.name) -}}
{{- fail "externalSecrets.store.name is empty: name the SecretStore to read from" -}}
{{- end -}}
{{- end -}}
