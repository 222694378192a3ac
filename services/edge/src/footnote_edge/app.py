"""Assembles the edge service."""

from contextlib import suppress
from functools import partial
from importlib import metadata
from pathlib import Path

from footnote_database import storage
from footnote_database.sqlite import file_of, log_keeper
from footnote_kit.admission import loop_lag
from footnote_kit.admission.concurrency import Size
from footnote_kit.admission.process_load import ProcessLoads
from footnote_kit.app import App, Runtime
from footnote_kit.edge import additions
from footnote_kit.errors import NotOffered
from footnote_kit.front.limits import FrontLimits
from footnote_kit.net import is_loopback
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.server import ListenError
from footnote_kit.settings import KitSettings
from footnote_providers.egress.egress import Egress

from footnote_edge.adapters.audit import Journal
from footnote_edge.adapters.audit_table import GUARDS, AuditEventRow
from footnote_edge.adapters.database import TRAITS
from footnote_edge.adapters.feedback import FeedbackTable
from footnote_edge.adapters.job_ledger import LEDGER, PART
from footnote_edge.adapters.keys import KeyTable
from footnote_edge.adapters.samples import SAMPLES
from footnote_edge.api.services import Services
from footnote_edge.api.system import about
from footnote_edge.asking.answer_access import AnswerAccess
from footnote_edge.asking.answerers import Answerers
from footnote_edge.asking.asker import Asker
from footnote_edge.asking.memory_search import MemorySearch
from footnote_edge.asking.question import Tools
from footnote_edge.collections.bounds import CollectionBounds
from footnote_edge.composition import Components, build_components, end_sources
from footnote_edge.conversations.feedback import FeedbackRecords
from footnote_edge.conversations.ports import Forgetting
from footnote_edge.documents.backlog import Backlog
from footnote_edge.documents.cancelling import DocumentCanceller
from footnote_edge.documents.chunk_repair import ChunkRepair
from footnote_edge.documents.consistency import ConsistencyCheck
from footnote_edge.documents.deletion import SYSTEM
from footnote_edge.documents.documents import Chunks
from footnote_edge.documents.editing import DocumentEditor
from footnote_edge.documents.interrupted_work import InterruptedWork
from footnote_edge.documents.polling import AdaptivePolling, MissingVectors
from footnote_edge.documents.reconcile import Reconciler
from footnote_edge.documents.row_deletion import RowDeletion
from footnote_edge.documents.starters import Starters
from footnote_edge.documents.views import DocumentViews
from footnote_edge.documents.watch import DocumentWatches
from footnote_edge.gateway.guard import CallGuard, guard
from footnote_edge.gateway.identity import Authenticator, authenticator
from footnote_edge.gateway.keys import ApiKeys, first_key
from footnote_edge.gateway.limits import Admission, Watches
from footnote_edge.gateway.principals import Operators
from footnote_edge.http.web import Web
from footnote_edge.jobs.changes import Feed
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.memory_backlog import MemoryBacklog
from footnote_edge.servicer import EdgeServicer
from footnote_edge.settings import Settings
from footnote_edge.sources.watching import CHECK_SECONDS as WATCH_SECONDS
from footnote_edge.system.health import Health
from footnote_edge.system.key_admin import KeyAdmin
from footnote_edge.system.providers import Providers
from footnote_edge.system.usage import UsageReports

_SWEEP_SECONDS = 3600.0


async def build(runtime: Runtime) -> App:
    """Return the edge service: database migrated, jobs resumed, handlers behind the guard."""
    settings = Settings()
    _known_callers_only(runtime.settings, settings)
    components = await build_components(runtime, settings)
    base, gateway, work, system = components.base, components.gateway, components.work, components.system
    database, meter = base.database, gateway.quotas.meter
    if settings.first_key_file is not None:
        await first_key(ApiKeys(KeyTable(database, Journal(database))), settings.first_key_file)
    auth = authenticator(settings, gateway.keys)
    backlog = Backlog(base.stages, components.work.jobs, settings)
    services = _services(runtime, components, auth, backlog)
    watches, admission = Watches(settings.watches_per_user), _admission(settings, base.loads)
    call_guard = CallGuard(auth, gateway.quotas.rates, watches, gateway.shares, admission)
    rounds = _rounds(components, backlog)
    urls = (settings.dbos_url(base.folder), settings.sqlalchemy_url(base.folder))
    logs = log_keeper(*(path for path in map(file_of, urls) if path is not None))
    web = Web(runtime, settings, auth, gateway.shares, gateway.auditor, services.version)
    guarded = guard(EdgeServicer(services), call_guard, gateway.auditor)
    return App(
        name="edge",
        servicers=[(add, guarded, name) for add, name in additions()],
        ready=database.check,
        start=[
            meter.rounds.start,
            gateway.recorder.rounds.start,
            system.activity.rounds.start,
            *(one.start for one in rounds),
            web.start,
            logs.start,
        ],
        public=True,
        front=_front_limits(settings),
        authenticates=bool(settings.auth) or settings.keyless,
        admit=call_guard.admit,
        refused=gateway.auditor.refused,
        drain=[web.drain],
        refuse=[web.refuse],
        close=[
            logs.stop,
            web.stop,
            *(one.stop for one in reversed(rounds)),
            work.jobs.close,
            end_sources,
            components.library.source_watches.close,
            meter.rounds.stop,
            meter.flush,
            system.activity.rounds.stop,
            system.activity.flush,
            gateway.recorder.rounds.stop,
            gateway.recorder.close,
            database.close,
            base.collection_epochs.close,
            base.generation_epochs.close,
            base.loads.close,
        ],
    )


def _services(runtime: Runtime, components: Components, auth: Authenticator, backlog: Backlog) -> Services:
    """Return the services that the handlers call."""
    base, gateway, history, work = components.base, components.gateway, components.history, components.work
    library, system, settings, version = components.library, components.system, components.base.settings, _version()
    call = settings.call_timeout_seconds
    tools = Tools(
        stages=base.stages,
        bounds=CollectionBounds(base.stages, base.collection_epochs, call),
        answerers=Answerers(base.stages, base.generation_epochs),
        conversations=history.conversations,
        memory_search=MemorySearch(base.stages, history.conversations),
        answers=history.answers,
        jobs=work.jobs,
        withholding=history.withholding,
        forgetting=history.forgetting,
        quotas=gateway.quotas,
        settings=settings,
        egress=Egress.load(),
        activity=system.activity,
        access_check=AnswerAccess(auth, history.withholding),
    )
    chunks = Chunks(base.stages, library.documents, base.permissions, call)
    return Services(
        settings=settings,
        stages=base.stages,
        collections=library.collections,
        evaluations=library.evaluations,
        documents=library.documents,
        uploads=library.uploads,
        many=library.many,
        views=DocumentViews(base.names),
        chunks=chunks,
        starters=Starters(base.stages, library.documents, chunks, gateway.quotas.meter, call),
        document_deletion=library.document_deletion,
        row_deletion=RowDeletion(base.stages, library.vanished, history.forgetting, work.jobs, call),
        document_canceller=DocumentCanceller(base.stages, library.documents, work.interruptions, base.bus, call),
        document_editor=DocumentEditor(base.stages, library.documents, library.collections, base.bus, call),
        watches=DocumentWatches(
            library.documents,
            Feed(base.stages, call),
            base.permissions,
            base.names,
            MissingVectors(base.stages, settings.watch_poll_seconds / 2, call),
            base.bus,
            AdaptivePolling(settings.watch_poll_seconds, alone=work.jobs.alone),
            settings.watch_poll_seconds,
            settings.watch_lifetime_seconds,
        ),
        jobs=work.jobs,
        operations=library.operations,
        asker=Asker(tools, library.collections, gateway.request_ids),
        quotas=gateway.quotas,
        conversations=history.conversations,
        answers=history.answers,
        request_ids=gateway.request_ids,
        feedback=FeedbackRecords(FeedbackTable(base.database), history.answers),
        providers=Providers(base.stages, call),
        keys=KeyAdmin(gateway.keys, gateway.request_ids, settings),
        health=Health(base.stages, runtime.check, base.database.check, base.loads),
        backlog=backlog,
        traces=system.traces,
        usage=UsageReports(base.stages, gateway.quotas.meter, call),
        activity=system.activity,
        operators=Operators(settings),
        audit=gateway.recorder,
        sources=library.sources,
        about=about(settings, runtime.settings, version),
        version=version,
    )


def _rounds(components: Components, backlog: Backlog) -> tuple[PeriodicTasks, ...]:
    """Return the periodic tasks."""
    base, gateway, history, work = components.base, components.gateway, components.history, components.work
    library, system, settings = components.library, components.system, components.base.settings
    stages, jobs = base.stages, work.jobs
    consistency = ConsistencyCheck(
        stages, jobs, work.renewing, base.operations, work.restoring, library.vanished, settings
    )
    reconciler = Reconciler(stages, jobs, settings)
    work.leases.on_orphans = lambda: jobs.run_in_background(reconciler.take_up())
    repair = ChunkRepair(stages, jobs, work.renewing, settings)
    leftovers = InterruptedWork(stages, library.document_deletion, settings)
    every = partial(PeriodicTasks, service="edge")
    return (
        every("answers", history.answers.sweep, _SWEEP_SECONDS),
        every("evaluations", library.evaluations.sweep, _SWEEP_SECONDS),
        every("forgetting", partial(_forget, history.forgetting, jobs), settings.reconcile_seconds),
        every("request-ids", gateway.request_ids.sweep, _SWEEP_SECONDS),
        every("use-by-user", gateway.usage.sweep, _SWEEP_SECONDS),
        every("activity-kept", system.counts.sweep, _SWEEP_SECONDS),
        every("audit-kept", partial(gateway.audit.sweep, settings.audit_days), _SWEEP_SECONDS),
        every("operations", library.operations.tend, settings.reconcile_seconds),
        every("reconcile", reconciler.run, settings.reconcile_seconds, scope=SYSTEM),
        every("consistency", partial(_compare, consistency), settings.reconcile_seconds, scope=SYSTEM),
        every("leftovers", leftovers.run, settings.leftovers_seconds, scope=SYSTEM),
        every("damaged-documents", repair.run, settings.leftovers_seconds, scope=SYSTEM),
        every("memory", MemoryBacklog(history.conversations, jobs).run, settings.reconcile_seconds),
        every("sources", library.schedule.begin_due, settings.source_look_seconds),
        every("source-folders", library.schedule.remove_folders, settings.reconcile_seconds),
        every("source-watches", library.source_watches.begin_changed, WATCH_SECONDS),
        every("source-keys", library.schedule.rekey, _SWEEP_SECONDS),
        every("backlog", backlog.refresh, settings.backlog_seconds, scope=SYSTEM),
        *(() if base.database.is_sqlite else system.questions.rounds),  # a SQLite database belongs to one process
    )


def _front_limits(settings: Settings) -> FrontLimits:
    return FrontLimits(
        connections=settings.grpc_connections,
        connections_per_peer=settings.grpc_connections_per_peer,
        calls_per_second=settings.grpc_calls_per_second,
        greeting_seconds=settings.head_seconds,
        write_seconds=settings.write_seconds,
    )


def _admission(settings: Settings, loads: ProcessLoads) -> Admission:
    """Return the limits of concurrent calls: questions, uploads, all others."""
    bounds = (settings.asks_at_once, settings.uploads_at_once, settings.calls_at_once)
    sizes = (Size(at_once, settings.admission_wait_seconds) for at_once in bounds)
    return Admission(*sizes, iteration=loop_lag.iteration, processor=loads.processor)


async def _compare(consistency: ConsistencyCheck) -> None:
    """Compare documents with chunks; a third-party stage keeps itself consistent and need not offer the calls."""
    with suppress(NotOffered):
        await consistency.run()


async def _forget(forgetting: Forgetting, jobs: Jobs) -> None:
    """Remove deleted origins from stored answers where a crash interrupted the removal."""
    jobs.remove_forgotten_from_memory(await forgetting.sweep())


def _known_callers_only(kit: KitSettings, settings: Settings) -> None:
    """Raise ListenError if edge would listen beyond loopback without authentication."""
    if not (settings.auth or settings.keyless or is_loopback(kit.listen_host)):
        raise ListenError(
            "edge does not authenticate its callers and therefore serves on loopback only, not on "
            f"{kit.listen_host}; set FOOTNOTE_EDGE_AUTH=keys, or make every caller an administrator of every tenant "
            "with FOOTNOTE_EDGE_KEYLESS=true (mTLS admits callers, but does not say which tenant is theirs)"
        )


def _version() -> str:
    try:
        return metadata.version("footnote")
    except metadata.PackageNotFoundError:
        return "0"


def stored_data(data_dir: Path) -> storage.StoredData:
    """Return the stored data of this service, below a data folder or at its configured places."""
    settings, folder = Settings(), data_dir / "edge"
    return storage.StoredData(
        databases=(
            storage.database(
                "edge",
                settings.sqlalchemy_url(folder),
                folder / "edge.db",
                TRAITS,
                variable="FOOTNOTE_EDGE_DATABASE_URL",
            ),
            storage.database(
                "jobs",
                settings.dbos_url(folder),
                folder / "jobs.db",
                library=LEDGER,
                holds=PART.holds,
                variable="FOOTNOTE_EDGE_JOBS_DATABASE_URL",
            ),
        ),
        log=storage.AppendOnly(
            database="edge",
            table=AuditEventRow.__tablename__,
            guards=GUARDS,
            time_column="time_ms",
            days=settings.audit_days,
        ),
        samples=SAMPLES,
    )
