// A tooltip that stays where it can be read: shown on hover and focus, closed by Escape.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { direction } from "../strings";

const GAP = 8;

interface Props {
  class: string;
  label: ComponentChildren;
  name?: string;
  tip: () => ComponentChildren;
  onClick?: () => void;
}

export function Tipped({ class: kind, label, name, tip, onClick }: Props) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (!open || !button.current || !box.current) return;
    const at = button.current.getBoundingClientRect();
    const own = box.current.getBoundingClientRect();
    const below = at.bottom + GAP + own.height < innerHeight || at.top < own.height + GAP;
    const left = direction() === "rtl" ? at.right - own.width : at.left;
    box.current.style.left = `${Math.max(GAP, Math.min(left, innerWidth - own.width - GAP))}px`;
    box.current.style.top = `${below ? at.bottom + GAP : at.top - own.height - GAP}px`;
    const away = () => setOpen(false);
    addEventListener("scroll", away, { passive: true, capture: true });
    return () => removeEventListener("scroll", away, { capture: true });
  }, [open]);
  return (
    <span class="tipped" onMouseLeave={() => setOpen(false)}>
      <button
        type="button" class={kind} ref={button} aria-describedby={open ? id : undefined} aria-label={name}
        onMouseEnter={() => setOpen(true)} onFocus={() => setOpen(true)} onBlur={() => setOpen(false)}
        onKeyDown={(event) => event.key === "Escape" && setOpen(false)}
        onClick={() => {
          setOpen(false);
          onClick?.();
        }}
      >
        {label}
      </button>
      {open && <span role="tooltip" id={id} class="tip" dir={direction()} ref={box}>{tip()}</span>}
    </span>
  );
}
