// What a collection and its tenant hold, and what they may.
import { get } from "../api/client";
import type { Collection, GetUsageResponse } from "../api/types";
import { useLoaded } from "../parts/load";
import { bytes, number, t } from "../strings";

export function Quotas({ collection }: { collection: Collection }) {
  const { value } = useLoaded((stop) => get<GetUsageResponse>("/v1/usage", stop), [collection.etag]);
  const limits = value?.limits;
  const tenant = value?.tenant;
  const size = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return (
    <dl class="figures quotas">
      <Figure name={t("quota.here")} held={collection.document_count} limit={collection.settings?.max_documents} />
      {tenant && <Figure name={t("quota.documents")} held={Number(tenant.documents)} limit={size(limits?.documents)} />}
      {tenant && <Figure name={t("quota.bytes")} held={Number(tenant.bytes)} limit={size(limits?.bytes)} words={bytes} />}
      {tenant && <Figure name={t("quota.tokens")} held={Number(tenant.tokens_today)} limit={size(limits?.tokens_per_day)} />}
    </dl>
  );
}

function Figure({ name, held, limit, words = number }: { name: string; held: number; limit: number | undefined; words?: (n: number) => string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{words(held)}
        <span class="quiet"> {limit === undefined ? t("quota.none") : t("quota.of", { n: words(limit) })}</span>
        {limit !== undefined && <meter min={0} max={Math.max(limit, 1)} value={held} aria-label={name} />}</dd>
    </div>
  );
}
