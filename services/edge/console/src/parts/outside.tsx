// Links that lead out of here, in texts that a document or a model wrote: followed only after a look at where they lead.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { outsideLinks } from "../state";
import { t } from "../strings";

const ADDRESS = /https?:\/\/[^\s<>"'`{}|\\^]{1,2000}/gi;

/** Return a text with each address in it as something to click on; as it is, where the operator wants no links. */
export function linked(text: string): ComponentChildren {
  if (!outsideLinks.value || !text.includes("://")) return text;
  const found: ComponentChildren[] = [];
  let done = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = match[0].replace(/[).,;:!?\]*]{1,2000}$/, "");
    const host = hostOf(address);
    if (!host) continue;
    found.push(text.slice(done, match.index), <Outside address={address} host={host} />);
    done = match.index + address.length;
  }
  return done ? [...found, text.slice(done)] : text;
}

/** Return the host that an address leads to, as the browser reads it; empty for one that it would not go to. */
export function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return "";
  }
}

/** An address as something to click on, under words of the text where it has some; the host always stands beside it. */
export function Outside({ address, host, label }: { address: string; host: string; label?: string }) {
  const [asked, setAsked] = useState(false);
  const id = useId();
  const way = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (asked) way.current?.focus();
  }, [asked]);
  return (
    <>
      <button
        type="button" class="outside" data-host={host} aria-expanded={asked} aria-controls={id}
        aria-label={t("outside.name", { host, address: label || address })} onClick={() => setAsked(!asked)}
      >{label || address}</button>
      {asked && (
        <span class="row leads" id={id} role="group" aria-label={t("outside.leads", { host })}>
          <span>{t("outside.leads", { host })}</span>
          <code>{new URL(address).href}</code>
          <a class="button" ref={way} href={address} target="_blank" rel="noopener noreferrer nofollow" onClick={() => setAsked(false)}>
            {t("outside.open", { host })}
          </a>
          <button type="button" class="plain" onClick={() => setAsked(false)}>{t("cancel")}</button>
        </span>
      )}
    </>
  );
}
