"""Assembles the components of edge, package by package."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from footnote_database.parts import Parts
from footnote_database.transactions import START_WAIT_SECONDS
from footnote_kit.admission.fair_shares import Shares
from footnote_kit.admission.process_load import ProcessLoads
from footnote_kit.app import Runtime
from footnote_kit.authorizer import AccessLookup, Authorizer
from footnote_kit.epochs import COLLECTIONS_FILE, EpochReader, path_of
from footnote_kit.front.proxy import address_of
from footnote_kit.settings import STAGES
from footnote_kit.telemetry import TelemetryServicer

from footnote_edge.adapters.answers import AnswerTable
from footnote_edge.adapters.audit import AuditTable
from footnote_edge.adapters.conversations import ConversationTable
from footnote_edge.adapters.database import Database
from footnote_edge.adapters.evaluations import EvaluationTable
from footnote_edge.adapters.forgetting import ForgettingTable
from footnote_edge.adapters.job_ledger import JobLedger
from footnote_edge.adapters.keys import KeyTable
from footnote_edge.adapters.known_collections import KnownCollectionTable
from footnote_edge.adapters.leases import GroupClaimTable, LeaseTable
from footnote_edge.adapters.limits import LimitTable
from footnote_edge.adapters.messages import MessageTable
from footnote_edge.adapters.operations import OperationTable
from footnote_edge.adapters.origins import OriginTable
from footnote_edge.adapters.regeneration import RegenerationTable
from footnote_edge.adapters.request_ids import RequestTable
from footnote_edge.adapters.shares import ShareTable
from footnote_edge.adapters.source_items import ItemTable
from footnote_edge.adapters.sources import SourceTable
from footnote_edge.adapters.stages import connect, telemetry_of
from footnote_edge.adapters.trace_questions import TraceQuestionTable
from footnote_edge.adapters.usage import ActivityTable, UsageTable
from footnote_edge.audit.events import CallOrigins
from footnote_edge.audit.recorder import Recorder
from footnote_edge.collections.bounds import CollectionBounds
from footnote_edge.collections.collections import Collections
from footnote_edge.collections.evaluations import Evaluations
from footnote_edge.collections.names import CollectionNames
from footnote_edge.collections.names import asking as asking_names
from footnote_edge.collections.permissions import Permissions
from footnote_edge.conversations.answers import Answers
from footnote_edge.conversations.conversations import Conversations
from footnote_edge.conversations.ports import Forgetting
from footnote_edge.conversations.withholding import Withholding
from footnote_edge.documents.deletion import DocumentDeletion
from footnote_edge.documents.documents import Documents
from footnote_edge.documents.many_uploads import ManyUploads
from footnote_edge.documents.operations import Operations
from footnote_edge.documents.upload_batches import UploadBatches
from footnote_edge.documents.vanished import VanishedOrigins
from footnote_edge.gateway.allowances import Allowances
from footnote_edge.gateway.auditing import Auditor
from footnote_edge.gateway.keys import ApiKeys
from footnote_edge.gateway.limits import RateLimits
from footnote_edge.gateway.metering import Meter
from footnote_edge.gateway.quotas import Quotas
from footnote_edge.gateway.request_ids import RequestIds
from footnote_edge.jobs.block_pipe import BlockPipe
from footnote_edge.jobs.chores import Chores
from footnote_edge.jobs.claims import Claims
from footnote_edge.jobs.collection_deletion import CollectionDeletion
from footnote_edge.jobs.group_processing import GroupProcessor
from footnote_edge.jobs.interrupting import Interruptions
from footnote_edge.jobs.jobs import Jobs
from footnote_edge.jobs.leases import Leases
from footnote_edge.jobs.ledger_retention import LedgerRetention
from footnote_edge.jobs.ports import OperationStore
from footnote_edge.jobs.postponing import Postponements
from footnote_edge.jobs.processing import Processor
from footnote_edge.jobs.progress import ProgressBus
from footnote_edge.jobs.reindexing import Reindexing, Renewing
from footnote_edge.jobs.restoring import Restoring
from footnote_edge.jobs.workflows import Work
from footnote_edge.ports import Stages
from footnote_edge.settings import Settings
from footnote_edge.sources import workflows
from footnote_edge.sources.documents import DocumentStore
from footnote_edge.sources.engine import Engine
from footnote_edge.sources.following import DocumentFollower
from footnote_edge.sources.kinds import BUILT_IN
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.registry import Kinds, Openings
from footnote_edge.sources.schedule import Schedule
from footnote_edge.sources.secrets import Vault
from footnote_edge.sources.service import Sources
from footnote_edge.sources.watching import SourceWatches
from footnote_edge.system.activity import ActivityCounter
from footnote_edge.system.trace_questions import TraceQuestions
from footnote_edge.system.traces import Traces


@dataclass(frozen=True, slots=True)
class Base:
    """The components that all packages need."""

    settings: Settings
    folder: Path
    installation: Parts
    stages: Stages
    database: Database
    bus: ProgressBus
    names: CollectionNames
    permissions: Permissions
    operations: OperationStore
    collection_epochs: EpochReader
    generation_epochs: EpochReader
    loads: ProcessLoads


async def build_base(runtime: Runtime, settings: Settings) -> Base:
    """Return them, with the database migrated."""
    stages = connect(runtime.channel)
    folder, installation = runtime.data_dir / "edge", Parts.of(runtime)
    database = Database(settings.sqlalchemy_url(folder))
    await database.migrate(START_WAIT_SECONDS, installation)
    bus = ProgressBus()
    operations = OperationTable(database, bus, settings.operation_hours)
    names = CollectionNames(asking_names(stages.indexing))
    epochs = EpochReader(path_of(runtime.data_dir, "indexing", COLLECTIONS_FILE))
    permissions = Permissions(Authorizer(AccessLookup(stages.indexing, epochs)), names, operations.deleting)
    loads = ProcessLoads(runtime.data_dir, STAGES)
    return Base(
        settings,
        folder,
        installation,
        stages,
        database,
        bus,
        names,
        permissions,
        operations,
        epochs,
        EpochReader(path_of(runtime.data_dir, "generation")),
        loads,
    )


@dataclass(frozen=True, slots=True)
class Gateway:
    """Authentication, quotas and the audit log."""

    keys: ApiKeys
    request_ids: RequestIds
    quotas: Quotas
    shares: Shares
    usage: UsageTable
    audit: AuditTable
    recorder: Recorder
    auditor: Auditor


def build_gateway(base: Base) -> Gateway:
    """Return the gateway's components."""
    settings, database, loads = base.settings, base.database, base.loads
    allowances = Allowances(LimitTable(database), settings)
    usage, audit = UsageTable(database), AuditTable(database)
    recorder = Recorder(audit)
    shares = Shares(
        settings.crowded_calls_per_tenant,
        settings.crowded_waiting_per_tenant,
        settings.crowded_wait_seconds,
        lag=loads.lag,
        processor=loads.processor,
    )
    return Gateway(
        keys=ApiKeys(KeyTable(database)),
        request_ids=RequestIds(RequestTable(database)),
        quotas=Quotas(RateLimits(settings), allowances, Meter(usage, allowances)),
        shares=shares,
        usage=usage,
        audit=audit,
        recorder=recorder,
        auditor=Auditor(recorder, CallOrigins(address_of)),
    )


@dataclass(frozen=True, slots=True)
class History:
    """Conversations, answers, and the checks of who may read them."""

    withholding: Withholding
    conversations: Conversations
    answers: Answers
    forgetting: Forgetting


def build_history(base: Base) -> History:
    """Return the components of conversations."""
    database = base.database
    withholding = Withholding(base.permissions, OriginTable(database))
    conversations = Conversations(
        ConversationTable(database),
        MessageTable(database),
        RegenerationTable(database),
        ShareTable(database),
        withholding,
        asking_names(base.stages.indexing),
    )
    answers = Answers(AnswerTable(database), withholding, base.settings.answer_days)
    return History(withholding, conversations, answers, ForgettingTable(database))


@dataclass(frozen=True, slots=True)
class Working:
    """Durable jobs and their components."""

    jobs: Jobs
    renewing: Renewing
    deletion: CollectionDeletion
    interruptions: Interruptions
    leases: Leases
    restoring: Restoring


def build_work(base: Base, gateway: Gateway, history: History) -> Working:
    """Return the components of jobs; the jobs begin with `launch`."""
    settings, stages, bus, operations = base.settings, base.stages, base.bus, base.operations
    meter, shares = gateway.quotas.meter, gateway.shares
    records, interruptions, postponements = LedgerRetention(settings.job_record_hours), Interruptions(), Postponements()
    bounds = CollectionBounds(stages, base.collection_epochs, settings.call_timeout_seconds)
    chores = Chores(stages, history.conversations, bounds, meter, settings)
    renewing = Renewing(stages, bus, settings)
    restoring = Restoring(
        stages, BlockPipe(stages, ProgressBus(), meter, shares, settings.job_timeout_seconds), settings
    )
    processor = Processor(stages, bus, interruptions, meter, shares, postponements, restoring, settings)
    deletion = CollectionDeletion(stages, history.forgetting, records, operations, settings)
    reindexing = Reindexing(stages, renewing, operations, settings)
    ceiling, places = settings.retry_ceiling_seconds, settings.document_concurrency
    work = Work(processor, chores, operations, reindexing, deletion, postponements, ceiling, places)
    claim_table, name = GroupClaimTable(base.database), settings.executor()
    leases = Leases(LeaseTable(base.database), claim_table, name, on_change=gateway.quotas.rates.divide)
    groups = GroupProcessor(stages, bus, meter, shares, processor, settings)
    ledger = JobLedger(settings.dbos_url(base.folder), base.folder, base.installation)
    claims = Claims() if ledger.alone else Claims(claim_table, name, ceiling)
    jobs = Jobs(settings, ledger, work, records, leases, claims, groups)
    return Working(jobs, renewing, deletion, interruptions, leases, restoring)


@dataclass(frozen=True, slots=True)
class Library:
    """Collections, documents and sources."""

    collections: Collections
    evaluations: Evaluations
    documents: Documents
    uploads: UploadBatches
    many: ManyUploads
    document_deletion: DocumentDeletion
    vanished: VanishedOrigins
    operations: Operations
    sources: Sources
    schedule: Schedule
    source_watches: SourceWatches


def build_library(base: Base, gateway: Gateway, history: History, work: Working) -> Library:
    """Return the components of documents and sources."""
    settings, stages, database, bus, jobs = base.settings, base.stages, base.database, base.bus, work.jobs
    quotas, request_ids, call = gateway.quotas, gateway.request_ids, settings.call_timeout_seconds
    known = KnownCollectionTable(database)
    collections = Collections(
        stages, base.permissions, quotas.allowances, known, request_ids, base.collection_epochs, call
    )
    documents = Documents(stages, collections, base.permissions, jobs, quotas, bus, settings)
    many = ManyUploads(stages, documents, collections, quotas, settings)
    uploads = UploadBatches(documents, many)
    document_deletion = DocumentDeletion(stages, documents, jobs, history.forgetting, bus, call)
    vanished = VanishedOrigins(stages, history.withholding.origins, history.forgetting, jobs, call)
    operations = Operations(
        base.operations,
        jobs,
        collections,
        documents,
        base.permissions,
        work.deletion,
        request_ids,
        quotas,
        bus,
        settings,
    )
    sources = _sources(base, work, collections, documents, uploads, document_deletion, operations, request_ids)
    evaluations = Evaluations(EvaluationTable(database), collections, base.permissions, settings.evaluation_days)
    return Library(
        collections, evaluations, documents, uploads, many, document_deletion, vanished, operations, *sources
    )


def _sources(
    base: Base,
    work: Working,
    collections: Collections,
    documents: Documents,
    uploads: UploadBatches,
    document_deletion: DocumentDeletion,
    operations: Operations,
    request_ids: RequestIds,
) -> tuple[Sources, Schedule, SourceWatches]:
    """Return the service, the schedule and the watches, with the engine given to the workflows.

    Raises ValueError for invalid settings.
    """
    settings, bus, operation_store, jobs = base.settings, base.bus, base.operations, work.jobs
    call, ceiling, poll = settings.call_timeout_seconds, settings.retry_ceiling_seconds, settings.watch_poll_seconds
    vault, kinds = Vault.of(settings.source_key, settings.source_key_file), Kinds(BUILT_IN)
    policy = Policy.of(
        settings.source_hosts, settings.source_private_hosts, settings.source_folders,
        user_agent=settings.source_user_agent, item_bytes=settings.source_item_bytes, items=settings.source_items,
        timeout=settings.source_timeout_seconds,
    )  # fmt: skip
    table = SourceTable(base.database, bus)
    items = ItemTable(base.database, table)
    store = DocumentStore(base.stages, documents, uploads, document_deletion, collections, jobs, bus, call)
    following = DocumentFollower(base.stages, items, call, ceiling, poll)
    openings = Openings(kinds, vault, policy, base.folder / "sources")
    workflows.activate(Engine(table, items, operation_store, store, following, openings, ceiling))
    schedule = Schedule(table, operation_store, jobs, vault, openings)
    source_watches = SourceWatches(table, operation_store, schedule, openings, settings.source_watches)
    sources = Sources(
        table, items, kinds, vault, schedule, operation_store, operations, jobs, collections, base.permissions,
        request_ids, bus, settings,
    )  # fmt: skip
    return sources, schedule, source_watches


async def end_sources() -> None:
    """Remove the sources' engine from the workflows."""
    workflows.activate(None)


@dataclass(frozen=True, slots=True)
class System:
    """Activity and traces."""

    counts: ActivityTable
    activity: ActivityCounter
    questions: TraceQuestions
    traces: Traces


def build_system(runtime: Runtime, base: Base, work: Working) -> System:
    """Return the components of activity and traces."""
    counts, telemetry, leases = ActivityTable(base.database), TelemetryServicer(), work.leases
    exchange = TraceQuestionTable(base.database)
    questions = TraceQuestions(exchange, base.settings.executor(), telemetry, lambda: leases.others)
    traces = Traces(partial(telemetry_of, runtime), telemetry, questions, lambda: leases.alive == 1)
    return System(counts, ActivityCounter(counts), questions, traces)


@dataclass(frozen=True, slots=True)
class Components:
    """All components."""

    base: Base
    gateway: Gateway
    history: History
    work: Working
    library: Library
    system: System


async def build_components(runtime: Runtime, settings: Settings) -> Components:
    """Return all components, with the database migrated and the jobs resumed."""
    base = await build_base(runtime, settings)
    gateway, history = build_gateway(base), build_history(base)
    work = build_work(base, gateway, history)
    await work.jobs.launch()
    library = build_library(base, gateway, history, work)
    return Components(base, gateway, history, work, library, build_system(runtime, base, work))
