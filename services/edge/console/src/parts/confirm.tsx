// A button that asks once more before it does what cannot be undone.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../strings";

/** How long it takes to see what is asked: a second click of the first, and a key held down, are no answer. */
const READ_MS = 700;

interface Props {
  label: string;
  /** What the button is about, for those who do not see where it stands. */
  about: string;
  sure: string;
  act: () => unknown;
}

export function Confirm({ label, about, sure, act }: Props) {
  const [state, setState] = useState<"" | "asked" | "read" | "doing">("");
  const question = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (state !== "asked") return;
    question.current?.focus();
    const due = setTimeout(() => setState("read"), READ_MS);
    return () => clearTimeout(due);
  }, [state]);
  const name = `${label}: ${about}`;
  if (!state) return <button type="button" class="plain" aria-label={name} onClick={() => setState("asked")}>{label}</button>;
  return (
    <span class="row sure" role="group" aria-label={name} tabIndex={-1} ref={question}>
      <button type="button" class="danger" disabled={state !== "read"} onClick={async () => {
        setState("doing");
        try {
          await act();
        } finally {
          setState("");
        }
      }}>{sure}</button>
      <button type="button" class="plain" disabled={state === "doing"} onClick={() => setState("")}>{t("cancel")}</button>
    </span>
  );
}
