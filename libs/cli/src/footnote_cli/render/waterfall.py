"""Renders a trace as a waterfall: per span a line with service, place in the tree, bar and milliseconds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from footnote.telemetry.v1.telemetry_service_pb2 import TraceSpan
from footnote_kit.printable import printable_line
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from footnote_cli.render.text import milliseconds, plural

SERVICE_STYLES = {
    "cli": "white",
    "edge": "magenta",
    "ingestion": "yellow",
    "indexing": "bright_blue",
    "retrieval": "cyan",
    "augmentation": "green",
    "generation": "bright_magenta",
}
# More siblings of one name than this share one line: a document of a thousand chunks stays readable.
MAX_ALIKE = 4
# Longer bars show no more detail.
MAX_WIDTH = 140
_TIME_WIDTH = 10
_MIN_BAR = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the waterfall. Times are milliseconds from the trace's first moment."""

    service: str
    label: str
    start: float
    duration: float
    error: str = ""


@dataclass(slots=True)
class _Node:
    """A span with its children in order of their start."""

    span: TraceSpan
    start: float
    end: float
    children: list["_Node"] = field(default_factory=list)

    @property
    def kind(self) -> tuple[str, str]:
        """What makes two siblings alike: service and name."""
        return short_service(self.span.service), self.span.name


def short_service(name: str) -> str:
    """Return a service's name without our prefix: "footnote-edge" is "edge"."""
    for prefix in ("footnote-", "footnote.", "footnote_"):
        name = name.removeprefix(prefix)
    return name


def short_name(name: str) -> str:
    """Return a span's name without the package of its service: "AnswersService/Ask"."""
    package, slash, method = name.rpartition("/")
    if slash and package.startswith(("footnote.", "/footnote.")):
        return f"{package.rpartition('.')[2]}/{method}"
    return name


def build_rows(spans: Sequence[TraceSpan]) -> list[Row]:
    """Return the lines of a trace, parents before children, each level by start time.

    A span whose parent is not among the given ones is drawn as a root.
    """
    roots = _tree(spans)
    rows: list[Row] = []
    for index, root in enumerate(roots):
        rows.extend(_lines(root, "", "", index == len(roots) - 1))
    return rows


def _tree(spans: Sequence[TraceSpan]) -> list[_Node]:
    if not spans:
        return []
    origin = min(span.start_time.ToNanoseconds() for span in spans)
    nodes: dict[str, _Node] = {}
    for span in spans:
        start = (span.start_time.ToNanoseconds() - origin) / 1e6
        end = max(start, (span.end_time.ToNanoseconds() - origin) / 1e6)
        nodes[span.span_id] = _Node(span, start, end)
    roots: list[_Node] = []
    for node in sorted(nodes.values(), key=lambda item: (item.start, -item.end)):
        parent = nodes.get(node.span.parent_span_id)
        (parent.children if parent is not None and parent is not node else roots).append(node)
    return roots


def _lines(node: _Node, lead: str, branch: str, last: bool) -> Iterator[Row]:
    span = node.span
    name = printable_line(short_name(span.name))
    # A call is two spans of one name, the caller's and below it the callee's: the arrow distinguishes them.
    called = any(child.span.service != span.service and short_name(child.span.name) == name for child in node.children)
    label = lead + branch + ("→ " if called else "") + name
    service, error = printable_line(short_service(span.service)), printable_line(span.error)
    yield Row(service, label, node.start, node.end - node.start, error)
    inner = lead if not branch else lead + ("  " if last else "│ ")
    alike = Counter(child.kind for child in node.children)
    shown: Counter[tuple[str, str]] = Counter()
    entries: list[_Node | Row] = []
    for child in node.children:
        shown[child.kind] += 1
        if alike[child.kind] <= MAX_ALIKE or shown[child.kind] < MAX_ALIKE:
            entries.append(child)
        elif shown[child.kind] == MAX_ALIKE:
            entries.append(_folded([other for other in node.children if other.kind == child.kind][MAX_ALIKE - 1 :]))
    for index, entry in enumerate(entries):
        is_last = index == len(entries) - 1
        mark = "└ " if is_last else "├ "
        if isinstance(entry, Row):
            yield Row(entry.service, inner + mark + entry.label, entry.start, entry.duration, entry.error)
        else:
            yield from _lines(entry, inner, mark, is_last)


def _folded(nodes: Sequence[_Node]) -> Row:
    service, name = map(printable_line, nodes[0].kind)
    start = min(node.start for node in nodes)
    end = max(node.end for node in nodes)
    errors = sum(1 for node in nodes if node.span.error)
    return Row(
        service,
        f"… {len(nodes)} more {short_name(name)}",
        start,
        end - start,
        f"{errors} of them failed" if errors else "",
    )


class Waterfall:
    """A trace ready to print, as wide as the console."""

    def __init__(self, spans: Sequence[TraceSpan], trace_id: str = "", missing: Sequence[str] = ()) -> None:
        self.spans = list(spans)
        self._rows = build_rows(spans)
        self._trace_id = trace_id
        self._missing = list(missing)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self._rows:
            yield Text("No spans of this trace are kept any more.")
            return
        total = max(max(row.start + row.duration for row in self._rows), 1e-6)
        services = len({row.service for row in self._rows})
        head = f"{milliseconds(total)}, {plural(len(self.spans), 'span')} in {plural(services, 'service')}"
        yield Text.assemble(("Trace ", "bold"), self._trace_id, ("  " if self._trace_id else "") + head)
        service_width = max(len(row.service) for row in self._rows)
        room = min(options.max_width, MAX_WIDTH) - service_width - _TIME_WIDTH - 4
        label_width = min(max(len(row.label) for row in self._rows), max(12, room - max(_MIN_BAR, room * 2 // 5)))
        bar_width = max(_MIN_BAR, room - label_width)
        for row in self._rows:
            yield self._line(row, total, service_width, label_width, bar_width)
        if self._missing:
            yield Text(f"Could not be asked for their spans: {', '.join(self._missing)}.", style="yellow")

    @staticmethod
    def _line(row: Row, total: float, service_width: int, label_width: int, bar_width: int) -> Text:
        style = SERVICE_STYLES.get(row.service, "blue")
        label = row.label if len(row.label) <= label_width else row.label[: label_width - 1] + "…"
        offset = min(int(row.start / total * bar_width), bar_width - 1)
        length = max(1, min(round(row.duration / total * bar_width), bar_width - offset))
        # A span too short for a cell is a thin stroke, so that it does not look longer than it was.
        mark = "█" if row.duration / total * bar_width >= 0.5 else "▏"
        bar = " " * offset + mark * length
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(row.service.ljust(service_width + 1), style=style)
        line.append(label.ljust(label_width + 1), style="red" if row.error else "")
        line.append(bar.ljust(bar_width + 1), style="red" if row.error else style)
        line.append(milliseconds(row.duration).rjust(_TIME_WIDTH))
        if row.error:
            line.append(f"\n{' ' * (service_width + 1)}↳ {row.error}", style="red")
        return line
