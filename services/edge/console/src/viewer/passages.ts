// A document's passages from the API, put together again as text or as a grid of cells.
import { get } from "../api/client";
import type { Chunk, ListChunksResponse } from "../api/types";

const PAGE = 1000;
const MOST_PAGES = 30;

export interface Read {
  chunks: Chunk[];
  /** Whether the document has more passages than are read. */
  cut: boolean;
}

export async function passages(documentId: string, stop: AbortSignal): Promise<Read> {
  const found: Chunk[] = [];
  let token = "";
  for (let page = 0; page < MOST_PAGES; page++) {
    const path = `/v1/documents/${encodeURIComponent(documentId)}/chunks?page_size=${PAGE}&page_token=${encodeURIComponent(token)}`;
    const next = await get<ListChunksResponse>(path, stop);
    found.push(...next.chunks);
    token = next.next_page_token;
    if (!token) break;
  }
  return { chunks: found.sort((a, b) => start(a) - start(b)), cut: token !== "" };
}

const start = (chunk: Chunk) => chunk.locator?.span?.start ?? 0;

/** Return the extracted text in code points, what several passages share taken once. */
export function whole(chunks: Chunk[]): string[] {
  const points: string[] = [];
  for (const chunk of chunks) {
    const own = Array.from(chunk.text);
    const from = start(chunk);
    while (points.length < from) points.push("\n");
    for (let index = points.length - from; index < own.length; index++) points.push(own[index]!);
  }
  return points;
}

export interface Sheet {
  name: string;
  columns: number;
  /** The headers of columns as the tables have them, from the outermost. */
  heads: Map<number, string>;
  rows: Map<number, Map<number, string>>;
}

/** Return "C12" as column and row, from 1; null for what is no cell. */
export function cell(reference: string): [number, number] | null {
  const match = /^\$?([A-Za-z]{1,3})\$?([0-9]{1,7})$/.exec(reference.trim());
  if (!match) return null;
  const column = Array.from(match[1]!.toUpperCase()).reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
  return [column, Number(match[2])];
}

/** Return a range's first and last cell. */
export function range(reference: string): [number, number, number, number] | null {
  const [first, last] = reference.split(":");
  const from = cell(first ?? "");
  const to = cell(last ?? first ?? "");
  return from && to ? [from[0], from[1], to[0], to[1]] : null;
}

export function letters(column: number): string {
  let name = "";
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26)) name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  return name;
}

/** Headers of a row or column, from the outermost. */
export const path = (headers: string[]) => headers.join(" › ");

/** Return the sheets that a document's passages show: each anchor is a cell, and its table names its column. */
export function sheets(chunks: Chunk[]): Sheet[] {
  const found = new Map<string, Sheet>();
  for (const chunk of chunks) {
    const points = Array.from(chunk.text);
    for (const anchor of chunk.anchors) {
      const place = anchor.locator?.sheet;
      const at = place && cell(place.range.split(":")[0] ?? "");
      if (!place || !at || !anchor.span) continue;
      const sheet = found.get(place.sheet) ?? { name: place.sheet, columns: 0, heads: new Map(), rows: new Map() };
      found.set(place.sheet, sheet);
      const [column, row] = at;
      const head = anchor.cell && path(chunk.tables[anchor.cell.table]?.columns[anchor.cell.column - 1]?.headers ?? []);
      if (head && !sheet.heads.has(column)) sheet.heads.set(column, head);
      sheet.columns = Math.max(sheet.columns, column);
      const cells = sheet.rows.get(row) ?? new Map<number, string>();
      sheet.rows.set(row, cells.set(column, points.slice(anchor.span.start, anchor.span.end).join("")));
    }
  }
  return [...found.values()];
}
