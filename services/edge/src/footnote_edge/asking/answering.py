"""State collected while one question is answered: timings, degradations and finally the manifest."""

from collections.abc import Sequence

from footnote.types.v1.answer_pb2 import Degradation, PipelineStage
from footnote_kit import names
from footnote_kit.degradations import Reason, degradation, word
from footnote_kit.errors import DeadlineExceeded, FootnoteError, Internal, ResourceExhausted, Unavailable
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter
from footnote_kit.timings import Stopwatch
from opentelemetry import trace

_log = get_logger(__name__)


def degrades(error: FootnoteError) -> bool:
    """Tell whether the answer continues without the failed part; a caller's own error is raised instead."""
    return isinstance(error, Unavailable | DeadlineExceeded | Internal | ResourceExhausted)


class QuestionTimings(Stopwatch):
    """Times and degradations of one question, counted from its arrival."""

    def __init__(self) -> None:
        super().__init__()
        self.degradations: list[Degradation] = []
        self.first_token: float | None = None

    def degrade(
        self, stage: PipelineStage.ValueType, reason: Reason, effect: str, error: FootnoteError | None = None
    ) -> None:
        """Note a failure and its effect on the answer."""
        self.report([degradation(stage, reason, effect, error.message if error else "")])

    def report(self, degradations: Sequence[Degradation]) -> None:
        """Report degradations in the answer, on the span, as a metric and in the log; those of a second search once."""
        for one in degradations:
            if one in self.degradations:
                continue
            self.degradations.append(one)
            stage = PipelineStage.Name(one.stage).removeprefix("PIPELINE_STAGE_").lower()
            counter("footnote.edge.degradations").add(1, {"stage": stage, "reason": word(one)})
            _log.warning("answer_degraded", stage=stage, reason=word(one), effect=one.effect, detail=one.detail)
        if degradations:
            reasons = [word(one) for one in self.degradations]
            trace.get_current_span().set_attribute(names.DEGRADATIONS, reasons)

    def saw_token(self) -> None:
        """Note the time of the first token."""
        if self.first_token is None:
            self.first_token = self.elapsed()
