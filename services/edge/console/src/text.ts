// Texts by code points, as the contract counts them, and places in the words of the badges.
import type { Citation, Locator, Source } from "./api/types";
import { t } from "./strings";

/** Return the stretch of a text, in code points, as the contract's spans count. */
export function slice(text: string, start: number, end: number): string {
  return Array.from(text).slice(start, end).join("");
}

/** Return a place in few words: "Stocks!C12", "Page 3"; empty where the whole file is meant. */
export function place(locator?: Locator): string {
  if (!locator) return "";
  const { page, sheet, slide, lines, heading_path: headings } = locator;
  if (page) {
    const last = page.last_page || page.page;
    return last > page.page ? t("place.pages", { first: page.page, last }) : t("place.page", { page: page.page });
  }
  if (sheet) return [sheet.sheet, sheet.range].filter(Boolean).join("!");
  if (slide) return t("place.slide", { slide: slide.slide });
  if (lines) {
    return lines.last_line > lines.first_line
      ? t("place.lines", { first: lines.first_line, last: lines.last_line })
      : t("place.line", { line: lines.first_line });
  }
  return headings.at(-1) ?? "";
}

/** Return a badge's words: "📊 production.xlsx - Stocks!C12", "📄 rapport.pdf - Page 3". */
export function badge(filename: string, locator?: Locator): string {
  const where = place(locator);
  return `${locator?.sheet ? "📊" : "📄"} ${filename}${where ? ` - ${where}` : ""}`;
}

/** Return the value of the cell that a citation names, where its source has it. */
export function cellValue(citation: Citation, source?: Source): string {
  const range = citation.locator?.sheet?.range;
  const anchor = range && source?.anchors.find((one) => one.locator?.sheet?.range === range);
  return anchor && anchor.span ? slice(source!.text, anchor.span.start, anchor.span.end) : "";
}

/** A stretch of an answer that is drawn in one way. */
export interface Segment {
  text: string;
  /** Index of the claim it belongs to, or -1. */
  claim: number;
  /** Citations whose marker this is. */
  citations: Citation[];
  /** True for the last stretch of its claim. */
  ends: boolean;
}

/** Cut an answer at its claims and markers. */
export function segments(text: string, claims: { span?: { start: number; end: number } }[], citations: Citation[]): Segment[] {
  const points = Array.from(text);
  const cuts = new Set([0, points.length]);
  const markers = new Map<number, Citation[]>();
  for (const one of citations) {
    if (!one.marker_span) continue;
    cuts.add(one.marker_span.start).add(one.marker_span.end);
    markers.set(one.marker_span.start, [...(markers.get(one.marker_span.start) ?? []), one]);
  }
  for (const { span } of claims) if (span) cuts.add(span.start).add(span.end);
  const order = [...cuts].filter((cut) => cut <= points.length).sort((a, b) => a - b);
  const found: Segment[] = [];
  let claim = 0;
  for (let index = 0; index + 1 < order.length; index++) {
    const [start, end] = [order[index]!, order[index + 1]!];
    while (claim < claims.length && (claims[claim]!.span?.end ?? 0) <= start) claim++;
    const span = claims[claim]?.span;
    const inside = span !== undefined && span.start <= start && end <= span.end;
    found.push({
      text: points.slice(start, end).join(""),
      claim: inside ? claim : -1,
      citations: markers.get(start) ?? [],
      ends: inside && end === span.end,
    });
  }
  return found;
}
