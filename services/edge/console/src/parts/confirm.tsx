// A button that asks once more before it does what cannot be undone.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../strings";

interface Props {
  label: string;
  /** What the button is about, for those who do not see where it stands. */
  about: string;
  sure: string;
  act: () => unknown;
}

export function Confirm({ label, about, sure, act }: Props) {
  const [asked, setAsked] = useState(false);
  const yes = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (asked) yes.current?.focus();
  }, [asked]);
  if (!asked) return <button type="button" class="plain" aria-label={`${label}: ${about}`} onClick={() => setAsked(true)}>{label}</button>;
  return (
    <span class="row sure">
      <button type="button" class="danger" ref={yes} onClick={async () => { await act(); setAsked(false); }}>{sure}</button>
      <button type="button" class="plain" onClick={() => setAsked(false)}>{t("cancel")}</button>
    </span>
  );
}
