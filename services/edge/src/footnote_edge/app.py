"""Assembles the edge service."""

from functools import partial
from importlib import metadata
from pathlib import Path

from footnote_database import keeping
from footnote_database.log_keeper import log_keeper
from footnote_database.parts import Parts as InstallationParts
from footnote_database.sqlite import file_of
from footnote_database.transactions import START_PATIENCE
from footnote_kit.admission import loop_lag
from footnote_kit.admission.fair_shares import Shares
from footnote_kit.admission.lanes import Size
from footnote_kit.admission.process_load import ProcessLoads
from footnote_kit.app import App, Runtime
from footnote_kit.authorizer import Asking, Authorizer
from footnote_kit.edge import additions
from footnote_kit.epochs import COLLECTIONS_FILE, EpochReader, path_of
from footnote_kit.front.addresses import address_of
from footnote_kit.front.limits import FrontLimits
from footnote_kit.net import is_loopback
from footnote_kit.periodic import PeriodicTasks
from footnote_kit.server import ListenError
from footnote_kit.settings import STAGES, KitSettings
from footnote_kit.telemetry_service import TelemetryServicer
from footnote_providers.egress.egress import Egress

from footnote_edge.adapters.activity import ActivityTable
from footnote_edge.adapters.answers import AnswerTable
from footnote_edge.adapters.audit import AuditTable, Journal
from footnote_edge.adapters.audit_table import GUARDS, AuditEventRow
from footnote_edge.adapters.conversations import ConversationTable
from footnote_edge.adapters.database import TRAITS, Database
from footnote_edge.adapters.feedback import FeedbackTable
from footnote_edge.adapters.forgetting import ForgettingTable
from footnote_edge.adapters.job_ledger import LEDGER, PART, JobLedger
from footnote_edge.adapters.keys import KeyTable
from footnote_edge.adapters.known_collections import KnownCollectionTable
from footnote_edge.adapters.leases import LeaseTable
from footnote_edge.adapters.limits import LimitTable
from footnote_edge.adapters.messages import MessageTable
from footnote_edge.adapters.operations import OperationTable
from footnote_edge.adapters.origins import OriginTable
from footnote_edge.adapters.regeneration import RegenerationTable
from footnote_edge.adapters.request_ids import RequestTable
from footnote_edge.adapters.samples import SAMPLES
from footnote_edge.adapters.source_items import ItemTable
from footnote_edge.adapters.sources import SourceTable
from footnote_edge.adapters.stages import connect, telemetry_of
from footnote_edge.adapters.trace_questions import TraceQuestionTable
from footnote_edge.adapters.usage import UsageTable
from footnote_edge.api.about import about
from footnote_edge.api.parts import Parts
from footnote_edge.asking.asker import Asker
from footnote_edge.asking.entitled import Entitled
from footnote_edge.asking.keeping import Keeper
from footnote_edge.asking.question import Tools
from footnote_edge.asking.recall import Recall
from footnote_edge.asking.windows import Windows
from footnote_edge.audit.recorder import Recorder
from footnote_edge.audit.ways import Ways
from footnote_edge.collections.bounds import Bounds
from footnote_edge.collections.catalog import Catalog
from footnote_edge.collections.names import CollectionNames
from footnote_edge.collections.names import asking as asking_names
from footnote_edge.collections.permissions import Permissions
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.feedback import FeedbackBook
from footnote_edge.conversations.ports import Forgetting
from footnote_edge.conversations.withholding import Withholding
from footnote_edge.documents.adaptive_polling import Seldom
from footnote_edge.documents.backlog import Backlog
from footnote_edge.documents.cancelling import Cancelling
from footnote_edge.documents.chunks import Chunks
from footnote_edge.documents.comparing import Comparison
from footnote_edge.documents.deleting import SYSTEM, Deleting
from footnote_edge.documents.documents import Documents
from footnote_edge.documents.editing import Editing
from footnote_edge.documents.leftovers import Leftovers
from footnote_edge.documents.operations import Operations
from footnote_edge.documents.public import Public
from footnote_edge.documents.reconcile import Reconciler
from footnote_edge.documents.watch import Watch
from footnote_edge.gateway.allowances import Allowances
from footnote_edge.gateway.auditing import Auditor
from footnote_edge.gateway.first_key import first_key
from footnote_edge.gateway.guard import Door, guard
from footnote_edge.gateway.identity import authenticator
from footnote_edge.gateway.keys import ApiKeys
from footnote_edge.gateway.limiting import Limiting
from footnote_edge.gateway.limits import Admission, Limits, Watches
from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.operators import Operators
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.http.web import Web
from footnote_edge.jobs.changes import Feed
from footnote_edge.jobs.chores import Chores
from footnote_edge.jobs.deletion import Deletion
from footnote_edge.jobs.group_processing import GroupProcessor
from footnote_edge.jobs.interrupting import Interruptions
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.leases import Leases
from footnote_edge.jobs.processing import Processor
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.jobs.putting_off import PuttingOff
from footnote_edge.jobs.records import Records
from footnote_edge.jobs.reindexing import Reindexing
from footnote_edge.jobs.remembering import Remembering
from footnote_edge.jobs.workflows import Work
from footnote_edge.servicer import EdgeServicer
from footnote_edge.settings import Settings
from footnote_edge.sources.building import SourceParts, build_sources
from footnote_edge.system.activity import Counted
from footnote_edge.system.health import Health
from footnote_edge.system.key_admin import KeyAdmin
from footnote_edge.system.providers import Providers
from footnote_edge.system.trace_questions import TraceQuestions
from footnote_edge.system.traces import Traces
from footnote_edge.system.usage import UsageDesk

_SWEEP_SECONDS = 3600.0


async def build(runtime: Runtime) -> App:
    """Return the edge service: database migrated, jobs resumed, handlers behind the guard."""
    settings = Settings()
    _known_callers_only(runtime.settings, settings)
    folder = runtime.data_dir / "edge"
    stages = connect(runtime.channel)
    collection_epochs = EpochReader(path_of(runtime.data_dir, "indexing", COLLECTIONS_FILE))
    generation_epochs = EpochReader(path_of(runtime.data_dir, "generation"))
    database = Database(settings.sqlalchemy_url(folder))
    installation = InstallationParts.of(runtime)
    await database.migrate(START_PATIENCE, installation)
    keys = ApiKeys(KeyTable(database))
    bus = ProgressBus()
    operation_book = OperationTable(database, bus, settings.operation_hours)
    names = CollectionNames(asking_names(stages.indexing))
    permissions = Permissions(Authorizer(Asking(stages.indexing, collection_epochs)), names, operation_book.deleting)
    withholding = Withholding(permissions, OriginTable(database))
    conversations = Conversations(
        ConversationTable(database), MessageTable(database), RegenerationTable(database), withholding
    )
    answers = Answers(AnswerTable(database), withholding, settings.answer_days)
    request_ids = RequestIds(RequestTable(database))
    limits = Limits(settings)
    loads = ProcessLoads(runtime.data_dir, STAGES)
    shares = Shares(
        settings.crowded_calls_per_tenant,
        settings.crowded_waiting_per_tenant,
        settings.crowded_wait_seconds,
        lag=loads.lag,
        processor=loads.processor,
    )
    admission = Admission(
        *(
            Size(at_once, settings.admission_wait_seconds)
            for at_once in (settings.asks_at_once, settings.uploads_at_once, settings.calls_at_once)
        ),
        lag=loop_lag.recent,
        processor=loads.processor,
    )
    allowances = Allowances(LimitTable(database), settings)
    usage = UsageTable(database)
    audit = AuditTable(database)
    recorder = Recorder(audit)
    auditor = Auditor(recorder, Ways(address_of))
    meter = Meter(usage, allowances)
    activity_table = ActivityTable(database)
    activity = Counted(activity_table)
    limiting = Limiting(limits, allowances, meter)
    records = Records(settings.job_record_hours)
    chores = Chores(stages, conversations, meter, bus, settings)
    interruptions = Interruptions()
    putting_off = PuttingOff()
    processor = Processor(stages, bus, interruptions, meter, shares, putting_off, settings)
    forgetting = ForgettingTable(database)
    deletion = Deletion(stages, forgetting, records, operation_book, settings)
    reindexing = Reindexing(stages, chores, operation_book, settings)
    ceiling, places = settings.retry_ceiling_seconds, settings.document_concurrency
    work = Work(processor, chores, operation_book, reindexing, deletion, putting_off, ceiling, places)
    leases = Leases(LeaseTable(database), settings.executor(), told=limits.divide)
    groups = GroupProcessor(stages, bus, meter, shares, processor, settings)
    ledger = JobLedger(settings.dbos_url(folder), folder, installation)
    jobs = Jobs(settings, ledger, work, records, leases, groups)
    await jobs.launch()
    catalog = Catalog(
        stages,
        permissions,
        allowances,
        KnownCollectionTable(database),
        request_ids,
        collection_epochs,
        settings.call_timeout_seconds,
    )
    documents = Documents(stages, catalog, permissions, jobs, limiting, bus, settings)
    deleting = Deleting(stages, documents, jobs, forgetting, bus, settings.call_timeout_seconds)
    operations = Operations(
        operation_book, jobs, catalog, documents, permissions, deletion, request_ids, limiting, bus, settings
    )
    source_table = SourceTable(database, bus)
    sources: SourceParts = build_sources(
        settings, folder, source_table, ItemTable(database, source_table), bus, stages, catalog, documents, deleting,
        permissions, operation_book, operations, jobs, request_ids,
    )  # fmt: skip
    telemetry = TelemetryServicer()
    questions = TraceQuestions(TraceQuestionTable(database), settings.executor(), telemetry, lambda: leases.others)
    version = _version()
    who = authenticator(settings, keys)
    tools = Tools(
        stages=stages,
        bounds=Bounds(stages, collection_epochs, settings.call_timeout_seconds),
        windows=Windows(stages, generation_epochs),
        conversations=conversations,
        recall=Recall(stages, conversations),
        keeper=Keeper(conversations, answers, jobs, withholding, forgetting),
        limiting=limiting,
        settings=settings,
        egress=Egress.load(),
        activity=activity,
        entitled=Entitled(who, withholding),
    )
    parts = Parts(
        settings=settings,
        stages=stages,
        catalog=catalog,
        documents=documents,
        public=Public(names),
        chunks=Chunks(stages, documents, permissions, settings.call_timeout_seconds),
        deleting=deleting,
        cancelling=Cancelling(stages, documents, interruptions, bus, settings.call_timeout_seconds),
        editing=Editing(stages, documents, bus, settings.call_timeout_seconds),
        watch=Watch(
            documents,
            Feed(stages, settings.call_timeout_seconds),
            permissions,
            names,
            bus,
            Seldom(settings.watch_poll_seconds, alone=jobs.alone),
            settings.watch_poll_seconds,
            settings.watch_lifetime_seconds,
        ),
        jobs=jobs,
        operations=operations,
        asker=Asker(tools, catalog, request_ids),
        limiting=limiting,
        conversations=conversations,
        answers=answers,
        request_ids=request_ids,
        feedback=FeedbackBook(FeedbackTable(database), answers),
        providers=Providers(stages, settings.call_timeout_seconds),
        keys=KeyAdmin(keys, request_ids, settings),
        health=Health(stages, runtime.check, database.check, loads),
        traces=Traces(partial(telemetry_of, runtime), telemetry, questions, lambda: leases.alive == 1),
        usage=UsageDesk(stages, meter, settings.call_timeout_seconds),
        activity=activity,
        operators=Operators(settings),
        audit=recorder,
        sources=sources.service,
        about=about(settings, runtime.settings, version),
        version=version,
    )
    if settings.first_key_file is not None:
        await first_key(ApiKeys(KeyTable(database, Journal(database))), settings.first_key_file)
    door = Door(who, limits, Watches(settings.watches_per_user), shares, admission)
    reconciler = Reconciler(
        stages,
        jobs,
        chores,
        Comparison(stages, jobs, chores, settings),
        settings,
    )
    leftovers = Leftovers(stages, deleting, settings)
    backlog = Backlog(stages, jobs, settings)
    rounds = (
        PeriodicTasks("answers", answers.sweep, _SWEEP_SECONDS, service="edge"),
        PeriodicTasks("forgetting", partial(_forget, forgetting, jobs), settings.reconcile_seconds, service="edge"),
        PeriodicTasks("request-ids", request_ids.sweep, _SWEEP_SECONDS, service="edge"),
        PeriodicTasks("use-by-user", usage.sweep, _SWEEP_SECONDS, service="edge"),
        PeriodicTasks("activity-kept", activity_table.sweep, _SWEEP_SECONDS, service="edge"),
        PeriodicTasks("audit-kept", partial(audit.sweep, settings.audit_days), _SWEEP_SECONDS, service="edge"),
        PeriodicTasks("operations", operations.tend, settings.reconcile_seconds, service="edge"),
        PeriodicTasks("reconcile", reconciler.look, settings.reconcile_seconds, service="edge", scope=SYSTEM),
        PeriodicTasks("leftovers", leftovers.look, settings.leftovers_seconds, service="edge", scope=SYSTEM),
        PeriodicTasks("memory", Remembering(conversations, jobs).look, settings.reconcile_seconds, service="edge"),
        PeriodicTasks("sources", sources.schedule.look, settings.source_look_seconds, service="edge"),
        PeriodicTasks("source-keys", sources.schedule.rekey, _SWEEP_SECONDS, service="edge"),
        PeriodicTasks("backlog", backlog.look, settings.backlog_seconds, service="edge", scope=SYSTEM),
        *(() if database.is_sqlite else questions.rounds),  # a SQLite database belongs to one process
    )
    urls = (settings.dbos_url(folder), settings.sqlalchemy_url(folder))
    logs = log_keeper(*(path for path in map(file_of, urls) if path is not None))
    web = Web(runtime, settings, who, shares, auditor, parts.version)
    guarded = guard(EdgeServicer(parts), door, auditor)
    return App(
        name="edge",
        servicers=[(add, guarded, name) for add, name in additions()],
        ready=database.check,
        start=[
            meter.rounds.start,
            recorder.rounds.start,
            activity.rounds.start,
            *(one.start for one in rounds),
            web.start,
            logs.start,
        ],
        public=True,
        front=FrontLimits(
            connections=settings.grpc_connections,
            connections_per_peer=settings.grpc_connections_per_peer,
            calls_per_second=settings.grpc_calls_per_second,
            greeting_seconds=settings.head_seconds,
            write_seconds=settings.write_seconds,
        ),
        authenticates=bool(settings.auth) or settings.keyless,
        admit=door.admit,
        refused=auditor.refused,
        close=[
            logs.stop,
            web.stop,
            *(one.stop for one in reversed(rounds)),
            jobs.close,
            sources.close,
            meter.rounds.stop,
            meter.flush,
            activity.rounds.stop,
            activity.flush,
            recorder.rounds.stop,
            recorder.close,
            database.close,
            collection_epochs.close,
            generation_epochs.close,
            loads.close,
        ],
    )


async def _forget(forgetting: Forgetting, jobs: Jobs) -> None:
    """Remove deleted origins from stored answers where a crash interrupted the removal."""
    jobs.leave_all(await forgetting.sweep())


def _known_callers_only(kit: KitSettings, settings: Settings) -> None:
    """Raise ListenError if edge would listen beyond loopback without authentication."""
    if not (settings.auth or settings.keyless or kit.tls_client_auth or is_loopback(kit.listen_host)):
        raise ListenError(
            f"edge does not know its callers and therefore serves on loopback only, not on {kit.listen_host}; set "
            "FOOTNOTE_EDGE_AUTH=keys, switch on mTLS, or make everyone who reaches it administrator with "
            "FOOTNOTE_EDGE_KEYLESS=true"
        )


def _version() -> str:
    try:
        return metadata.version("footnote")
    except metadata.PackageNotFoundError:
        return "0"


def kept(data_dir: Path) -> keeping.StoredData:
    """Return the stored data of this service, below a data folder or at its configured places."""
    settings, folder = Settings(), data_dir / "edge"
    return keeping.StoredData(
        databases=(
            keeping.database(
                "edge",
                settings.sqlalchemy_url(folder),
                folder / "edge.db",
                TRAITS,
                variable="FOOTNOTE_EDGE_DATABASE_URL",
            ),
            keeping.database(
                "jobs",
                settings.dbos_url(folder),
                folder / "jobs.db",
                library=LEDGER,
                holds=PART.holds,
                variable="FOOTNOTE_EDGE_JOBS_DATABASE_URL",
            ),
        ),
        log=keeping.AppendOnly(
            database="edge",
            table=AuditEventRow.__tablename__,
            guards=GUARDS,
            time_column="time_ms",
            days=settings.audit_days,
        ),
        samples=SAMPLES,
    )
