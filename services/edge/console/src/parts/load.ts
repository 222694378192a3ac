// Reading something for a view, and again when it has changed.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { freshId } from "../api/client";
import { type Fault, faultOf } from "./failure";

/** Does something, says what went wrong, and returns whether it worked. */
export type Doing = (act: () => Promise<unknown>) => Promise<boolean>;

export interface Loaded<T> {
  value: T | null;
  fault: Fault | null;
  again: () => void;
  /** Reads anew where it worked. */
  doing: Doing;
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
      return false;
    }
    setRound((one) => one + 1);
    return true;
  }, []);
  return { value, fault, again, doing };
}

/** Returns state, what it is by now for what began when it was another, and what sets it. */
export function useNow<T>(first: T): [T, { readonly current: T }, (to: (now: T) => T) => void] {
  const [shown, show] = useState(first);
  const now = useRef(first);
  const set = useCallback((to: (now: T) => T) => {
    now.current = to(now.current);
    show(() => now.current);
  }, []);
  return [shown, now, set];
}

/** Returns the id of a request: the same one while the same body is sent again, another after `done`. */
export function useRequestId(): { of: (body: object) => string; done: () => void } {
  const last = useRef({ body: "", id: "" });
  return {
    of: (body) => {
      const text = JSON.stringify(body);
      if (last.current.body !== text) last.current = { body: text, id: freshId() };
      return last.current.id;
    },
    done: () => { last.current = { body: "", id: "" }; },
  };
}
