// How a number was computed from tables: the formula, the cells that counted in their tables, the query, and a chart of a series.
import { useState } from "preact/hooks";
import { call, get } from "../api/client";
import type { ComputedCells, GetTableResponse, QueryTablesResponse, TableCell, TableComputation } from "../api/types";
import { Chart } from "../parts/chart";
import { Failure } from "../parts/failure";
import { useLoaded } from "../parts/load";
import { language, number, t } from "../strings";
import { range } from "../viewer/passages";

/** Rows that are drawn of a table, and bars of a chart, at most; bars that have their names below them. */
const MOST_ROWS = 200;
const MOST_BARS = 60;
const MOST_NAMED = 12;
/** Rows of a page of a table, and pages that are read at most to come to the last row that counted. */
const PAGE = 1000;
const MOST_PAGES = 20;

interface Found {
  tables: GetTableResponse[];
  series: { name: string; bars: { label: string; values: number[] }[] } | null;
}

export function Computed({ made }: { made: TableComputation }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="made computed" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("computed.title")}</summary>
      {open && <Inside made={made} />}
    </details>
  );
}

function Inside({ made }: { made: TableComputation }) {
  const { value, fault, again } = useLoaded((stop) => read(made, stop), [made]);
  return (
    <>
      <p dir="auto">{made.formula}</p>
      {made.confirmed && <p class="quiet">{t("computed.confirmed")}</p>}
      {fault && <Failure fault={fault} again={again} />}
      {!value && !fault && <p class="quiet">{t("loading")}</p>}
      {value?.series && (
        <Chart title={value.series.name} series={[{ name: value.series.name, look: "good" }]} bars={value.series.bars} each={value.series.bars.length <= MOST_NAMED} nothing={t("none")} />
      )}
      {value?.tables.map((one) => <Cells found={one} counted={made.cells.filter((cells) => isOf(cells, one))} />)}
      <h3>{t("computed.query")}</h3>
      <pre class="query" dir="ltr" tabIndex={0}><code>{made.query}</code></pre>
      {made.model && <p class="quiet">{t("computed.model", { model: made.model })}</p>}
    </>
  );
}

const isOf = (cells: ComputedCells, { table }: GetTableResponse) => cells.document_id === table?.document_id && cells.table === table.number;

async function read(made: TableComputation, stop: AbortSignal): Promise<Found> {
  const last = new Map<string, number>();
  for (const { document_id: document, table, ranges } of made.cells) {
    const path = `/v1/documents/${encodeURIComponent(document)}/tables/${table}`;
    last.set(path, Math.max(last.get(path) ?? 0, ...ranges.map((name) => range(name)?.[3] ?? 0)));
  }
  const [tables, series] = await Promise.all([Promise.all([...last].map((one) => tableOf(...one, stop))), seriesOf(made, stop)]);
  return { tables, series };
}

/** Return a table with its first rows: a page of them, and all others up to a row. */
async function tableOf(path: string, last: number, stop: AbortSignal): Promise<GetTableResponse> {
  const found = await get<GetTableResponse>(`${path}?page_size=${PAGE}`, stop);
  const { rows } = found;
  let token = found.next_page_token;
  for (let page = 1; token && page < MOST_PAGES && (rows.at(-1)?.row ?? 0) < last; page++) {
    const next = await get<GetTableResponse>(`${path}?page_size=${PAGE}&page_token=${encodeURIComponent(token)}`, stop);
    rows.push(...next.rows);
    token = next.next_page_token;
  }
  return found;
}

/** Return what the query gives as bars, where it gives names with numbers. */
async function seriesOf({ query, document_ids }: TableComputation, stop: AbortSignal): Promise<Found["series"]> {
  const { result } = await call<QueryTablesResponse>("POST", "/v1/tables:query", { query, document_ids }, stop);
  if (!result || result.truncated || result.rows.length < 2 || result.rows.length > MOST_BARS) return null;
  const holds = (column: number, type: string) => result.rows.every((row) => typeof row[column] === type);
  const columns = result.columns.map((_, index) => index);
  const label = columns.find((one) => holds(one, "string"));
  const values = columns.filter((one) => holds(one, "number") && !result.columns[one]!.startsWith("_"));
  if (label === undefined || values.length !== 1 || result.rows.some((row) => (row[values[0]!] as number) < 0)) return null;
  return {
    name: result.columns[values[0]!]!,
    bars: result.rows.map((row) => ({ label: row[label] as string, values: [row[values[0]!] as number] })),
  };
}

function Cells({ found, counted }: { found: GetTableResponse; counted: ComputedCells[] }) {
  const table = found.table!;
  // Ranges count columns from the sheet's first, which may stand left of the table.
  const numbers = new Map(table.columns.map((one) => [one.name, one.number]));
  const ranges = counted.flatMap((one) => one.ranges.map((name) => ({ column: numbers.get(one.column), at: range(name) })));
  const counts = (column: number, row: number) => ranges.some((one) => one.column === column && one.at !== null && one.at[1] <= row && row <= one.at[3]);
  const [only, setOnly] = useState(found.rows.length > 20);
  const [order, setOrder] = useState({ column: 0, down: false });
  const wanted = found.rows.filter(({ row, cells }) => !only || cells.some((one) => counts(one.cell?.column ?? 0, row)));
  if (order.column) {
    const at = (row: (typeof wanted)[number]) => row.cells.find((one) => one.cell?.column === order.column);
    wanted.sort((a, b) => compared(at(a), at(b)) * (order.down ? -1 : 1));
  }
  const rows = wanted.slice(0, MOST_ROWS);
  // Of a column that has more cells than are shown or named, their number is known.
  const all = only ? Math.max(wanted.length, ...counted.map((one) => Number(one.count))) : Number(found.total_size);
  return (
    <section class="counted">
      <h3 dir="auto">{[table.filename, table.name].filter(Boolean).join(" › ")}</h3>
      <label class="check"><input type="checkbox" checked={only} onChange={(event) => setOnly(event.currentTarget.checked)} /> {t("computed.only")}</label>
      {all > rows.length && <p class="quiet">{t("computed.cut", { n: number(rows.length), all: number(all) })}</p>}
      <div class="grid" dir="ltr" role="region" aria-label={t("viewer.grid", { filename: table.filename })} tabIndex={0}>
        <table>
          <thead>
            <tr>{table.columns.map((column) => (
              <th scope="col" aria-sort={order.column !== column.number ? "none" : order.down ? "descending" : "ascending"}>
                <button type="button" class="plain" onClick={() => setOrder({ column: column.number, down: order.column === column.number && !order.down })}>
                  <bdi>{column.name}</bdi>{order.column === column.number && <span aria-hidden="true">{order.down ? " ↓" : " ↑"}</span>}
                </button>
              </th>
            ))}</tr>
          </thead>
          <tbody>
            {rows.map(({ row, cells }) => (
              <tr key={row}>{table.columns.map((column) => {
                const text = cells.find((one) => one.cell?.column === column.number)?.text ?? "";
                return <td dir="auto">{counts(column.number, row) ? <mark>{text}</mark> : text}</td>;
              })}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Numbers by size, days by time, all else by its words; cells without a value come last. */
function compared(a: TableCell | undefined, b: TableCell | undefined): number {
  const [one, other] = [a?.cell?.number, b?.cell?.number];
  if (one !== undefined && other !== undefined) return one - other;
  if ((one ?? other) !== undefined) return one !== undefined ? -1 : 1;
  return (a?.cell?.date ?? a?.text ?? "").localeCompare(b?.cell?.date ?? b?.text ?? "", language.value);
}
