// Texts by code points, as the contract counts them, and places in the words of the badges.
import type { Citation, Locator, Source } from "./api/types";
import { isolate, t } from "./strings";

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
  if (sheet) return isolate([sheet.sheet, sheet.range].filter(Boolean).join("!"));
  if (slide) return t("place.slide", { slide: slide.slide });
  if (lines) {
    return lines.last_line > lines.first_line
      ? t("place.lines", { first: lines.first_line, last: lines.last_line })
      : t("place.line", { line: lines.first_line });
  }
  return isolate(headings.at(-1) ?? "");
}

/** Return a badge's words: "📊 production.xlsx - Stocks!C12", "📄 rapport.pdf - Page 3". */
export function badge(filename: string, locator?: Locator): string {
  const where = place(locator);
  return `${locator?.sheet ? "📊" : "📄"} ${isolate(filename)}${where ? ` - ${where}` : ""}`;
}

/** Return the value of the cell that a citation names, where its source has it. */
export function cellValue(citation: Citation, source?: Source): string {
  const range = citation.locator?.sheet?.range;
  const anchor = range && source?.anchors.find((one) => one.locator?.sheet?.range === range);
  return anchor && anchor.span ? slice(source!.text, anchor.span.start, anchor.span.end) : "";
}
