// A trace as steps to draw: which service did what, when, and within what.
import type { TraceSpan } from "../api/types";

export interface Step {
  id: string;
  service: string;
  name: string;
  depth: number;
  /** Milliseconds from the beginning of the trace. */
  start: number;
  took: number;
  error: string;
}

/** Return the steps of a trace by start. A call and its handling under the same name are one: where it was handled. */
export function stepsOf(spans: TraceSpan[]): Step[] {
  const byId = new Map(spans.map((one) => [one.span_id, one]));
  const handled = new Set(spans.filter((one) => byId.get(one.parent_span_id)?.name === one.name).map((one) => one.parent_span_id));
  const began = Math.min(...spans.map((one) => at(one.start_time)));
  const depths = new Map<string, number>();
  const depth = (span: TraceSpan): number => {
    const known = depths.get(span.span_id);
    if (known !== undefined) return known;
    depths.set(span.span_id, 0);
    const above = byId.get(span.parent_span_id);
    const found = above ? depth(above) + (handled.has(above.span_id) ? 0 : 1) : 0;
    depths.set(span.span_id, found);
    return found;
  };
  return spans.filter((one) => !handled.has(one.span_id)).map((one) => ({
    id: one.span_id,
    service: one.service.replace(/^footnote-/, ""),
    name: one.name.slice(one.name.lastIndexOf("Service/") < 0 ? 0 : one.name.lastIndexOf("/") + 1),
    depth: depth(one),
    start: at(one.start_time) - began,
    took: at(one.end_time) - at(one.start_time),
    error: one.error,
  })).sort((a, b) => a.start - b.start);
}

/** Return a timestamp's milliseconds with their fraction, which Date drops. */
function at(time = ""): number {
  const [whole, fraction = ""] = time.replace("Z", "").split(".");
  return Date.parse(`${whole}Z`) + Number(`0.${fraction || 0}`) * 1000;
}
