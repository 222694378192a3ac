// What a table says of the cell that a footnote names: the headers of its row and column, in full.
import type { TableCell } from "../api/types";
import { t } from "../strings";
import { path } from "./passages";

export function Headers({ cell }: { cell: TableCell }) {
  const rows: [string, string[]][] = [[t("viewer.row"), cell.row_headers], [t("viewer.column"), cell.column_headers]];
  const said = rows.filter(([, headers]) => headers.length > 0);
  if (said.length === 0) return null;
  return (
    <dl class="cell-headers">
      {said.map(([name, headers]) => <div key={name}><dt>{name}</dt><dd dir="auto">{path(headers)}</dd></div>)}
    </dl>
  );
}
