// Reading something for a view, and again when it has changed.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Fault, faultOf } from "./failure";

export interface Loaded<T> {
  value: T | null;
  fault: Fault | null;
  again: () => void;
  /** Do something, say what went wrong, and read anew. */
  doing: (act: () => Promise<unknown>) => Promise<void>;
}

/** Reads at once, when `on` changes and, with `every`, each so many milliseconds while the page is looked at. */
export function useLoaded<T>(read: (stop: AbortSignal) => Promise<T>, on: unknown[], every = 0): Loaded<T> {
  const [value, setValue] = useState<T | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [round, setRound] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const again = useCallback(() => setRound((one) => one + 1), []);
  useEffect(() => {
    const stop = new AbortController();
    latest.current(stop.signal).then((found) => {
      if (stop.signal.aborted) return;
      setValue(() => found);
      setFault(null);
    }).catch((error) => !stop.signal.aborted && setFault(faultOf(error))).finally(() => {
      if (every && !stop.signal.aborted) due = setTimeout(next, every);
    });
    let due = 0;
    const next = () => {
      if (document.visibilityState === "visible") return again();
      document.addEventListener("visibilitychange", again, { once: true });
    };
    return () => {
      stop.abort();
      clearTimeout(due);
      document.removeEventListener("visibilitychange", again);
    };
  }, [round, ...on]);
  const doing = useCallback(async (act: () => Promise<unknown>) => {
    try {
      await act();
      setFault(null);
    } catch (error) {
      setFault(faultOf(error));
      return;
    }
    setRound((one) => one + 1);
  }, []);
  return { value, fault, again, doing };
}
