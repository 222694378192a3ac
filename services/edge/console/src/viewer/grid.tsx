// The cells of a sheet, with those that a footnote names ringed.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Chunk } from "../api/types";
import type { Place } from "../state";
import { isolate, t } from "../strings";
import { type Sheet, letters, range, sheets } from "./passages";

const AROUND = 60;

export function Grid({ at, chunks }: { at: Place; chunks: Chunk[] }) {
  const all = useMemo(() => sheets(chunks), [chunks]);
  const cited = (at.citation?.locator ?? at.source?.locator)?.sheet;
  const [name, setName] = useState(cited?.sheet ?? all[0]?.name ?? "");
  useEffect(() => setName(cited?.sheet ?? all[0]?.name ?? ""), [at]);
  const sheet = all.find((one) => one.name === name);
  return (
    <>
      {all.length > 1 && (
        <label class="inline-field">
          {t("viewer.sheet")}
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {all.map((one) => <option value={one.name}>{isolate(one.name)}</option>)}
          </select>
        </label>
      )}
      {sheet && <Cells sheet={sheet} ringed={cited && cited.sheet === name ? cited.range : ""} name={at.filename} key={`${name} ${cited?.range}`} />}
    </>
  );
}

function Cells({ sheet, ringed, name }: { sheet: Sheet; ringed: string; name: string }) {
  const ring = range(ringed);
  const rows = useMemo(() => [...sheet.rows.keys()].sort((a, b) => a - b), [sheet]);
  const middle = ring ? Math.max(rows.findIndex((row) => row >= ring[1]), 0) : 0;
  const [from, setFrom] = useState(Math.max(middle - AROUND, 0));
  const [to, setTo] = useState(Math.min(middle + AROUND, rows.length));
  const target = useRef<HTMLTableCellElement>(null);
  useEffect(() => target.current?.scrollIntoView({ block: "center", inline: "center" }), []);
  const columns = Array.from({ length: sheet.columns }, (_, index) => index + 1);
  const inside = (column: number, row: number) => ring && ring[0] <= column && column <= ring[2] && ring[1] <= row && row <= ring[3];
  return (
    <>
      {from > 0 && <button type="button" onClick={() => setFrom(Math.max(from - 2 * AROUND, 0))}>{t("viewer.rows.before")}</button>}
      <div class="grid" dir="ltr" role="region" aria-label={t("viewer.grid", { filename: name })} tabIndex={0}>
        <table>
          <thead>
            <tr><th class="corner" scope="col"><span class="hidden">#</span></th>{columns.map((column) => <th scope="col">{letters(column)}</th>)}</tr>
            {sheet.heads.size > 0 && (
              <tr class="heads"><td />{columns.map((column) => <td dir="auto">{sheet.heads.get(column) ?? ""}</td>)}</tr>
            )}
          </thead>
          <tbody>
            {rows.slice(from, to).map((row) => (
              <tr key={row}>
                <th scope="row">{row}</th>
                {columns.map((column) => {
                  const ringedHere = inside(column, row);
                  const first = ring && ringedHere && column === ring[0] && row === ring[1];
                  return (
                    <td dir="auto" class={ringedHere ? "ringed" : undefined} ref={first ? target : undefined} data-cell={`${letters(column)}${row}`}>
                      {ringedHere ? <mark>{sheet.rows.get(row)?.get(column) ?? ""}</mark> : sheet.rows.get(row)?.get(column) ?? ""}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {to < rows.length && <button type="button" onClick={() => setTo(Math.min(to + 2 * AROUND, rows.length))}>{t("viewer.rows.after")}</button>}
    </>
  );
}
