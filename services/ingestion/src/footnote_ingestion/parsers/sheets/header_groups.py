"""Which columns the names of groups in a sheet's header cover, where no merged cells show it."""

from __future__ import annotations

from footnote_ingestion.parsers.tables import looks_like_year, looks_numeric


def groups_of(columns: list[int], names: list[str], labels: list[int]) -> list[tuple[list[int], int]]:
    """Return the columns of each group with the place of its name; none if uncertain."""
    within = [label for label in labels if label >= columns[0]]
    if not within:
        return []
    for size in range(2, len(columns) // 2 + 1):  # repeated names show the groups
        if len(columns) % size or any(name != names[index % size] for index, name in enumerate(names)):
            continue
        groups = [columns[start : start + size] for start in range(0, len(columns), size)]
        owners = [[label for label in within if group[0] <= label <= group[-1]] for group in groups]
        if all(len(one) == 1 for one in owners):
            return [(group, one[0]) for group, one in zip(groups, owners, strict=True)]
        return []
    runs = _runs(columns)
    owners = [[label for label in within if run[0] <= label <= run[-1]] for run in runs]
    if len(runs) > 1 and all(len(one) == 1 for one in owners):  # blank columns separate them
        return [(run, one[0]) for run, one in zip(runs, owners, strict=True)]
    if within[0] != columns[0]:
        return []
    ends = [*within[1:], columns[-1] + 1]
    groups = [[column for column in columns if start <= column < end] for start, end in zip(within, ends, strict=True)]
    alike = all(looks_like_year(name) or looks_numeric(name) for name in names)
    if all(len(group) > 1 for group in groups) and (len(groups) > 1 or alike):
        return list(zip(groups, within, strict=True))
    return []


def _runs(columns: list[int]) -> list[list[int]]:
    """Split columns into runs without a gap."""
    runs: list[list[int]] = []
    for column in columns:
        if runs and runs[-1][-1] == column - 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    return runs
