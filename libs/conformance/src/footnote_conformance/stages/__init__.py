"""The suites, a module for each stage."""

from importlib import import_module

from footnote_conformance.suite import Suite

STAGES = ("ingestion", "indexing", "retrieval", "augmentation", "generation")


def suite_of(stage: str) -> Suite:
    """Return the suite of a stage; KeyError if there is none."""
    if stage not in STAGES:
        raise KeyError(stage)
    suite: Suite = import_module(f"{__name__}.{stage}").SUITE
    return suite
