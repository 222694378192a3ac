// A formula, drawn by KaTeX as MathML, which needs neither fonts nor styles. KaTeX is loaded with the first formula.
import { useEffect, useRef, useState } from "preact/hooks";

type Katex = typeof import("katex").default;
let katex: Katex | undefined;

export function FormulaView({ tex, display }: { tex: string; display: boolean }) {
  const place = useRef<HTMLSpanElement>(null);
  const [drawer, setDrawer] = useState<Katex | undefined>(() => katex);
  useEffect(() => {
    if (drawer) return;
    // Where it cannot be loaded, the formula stays as it is written.
    import("katex").then((loaded) => { katex = loaded.default; setDrawer(() => katex); }, () => undefined);
  }, []);
  useEffect(() => {
    if (!drawer || !place.current) return;
    // Commands that would make a link, an image or markup are refused: `trust` is off.
    drawer.render(tex, place.current, { displayMode: display, output: "mathml", throwOnError: false, trust: false, strict: "ignore", maxExpand: 200, maxSize: 20 });
  }, [drawer, tex, display]);
  return <span key={drawer ? "drawn" : "written"} ref={place} dir="ltr" class={display ? "formula display" : "formula"}>{drawer ? null : tex}</span>;
}
