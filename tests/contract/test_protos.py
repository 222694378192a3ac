"""The contracts: lint-clean, every element commented, generated code current."""

import gzip
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from footnote_kit.edge import METHODS, PATHS
from google.protobuf import descriptor_pb2, descriptor_pool

ROOT = Path(__file__).resolve().parents[2]
GENERATE = ROOT / "libs" / "contracts" / "generate.py"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contracts as one descriptor file, generated now."""
    path = tmp_path_factory.mktemp("image") / "footnote.binpb"
    subprocess.run([sys.executable, str(GENERATE), "--image", str(path)], check=True)
    return path


SHARED_RESPONSES = {"RegenerateMessage": "AskResponse", "EditMessage": "AskResponse"}
"""RPCs that regenerate an answer stream what Ask streams: clients read one kind of event."""


def test_buf_lint_finds_nothing(image: Path) -> None:
    buf = shutil.which("buf", path=str(Path(sys.executable).parent)) or shutil.which("buf")
    if buf is None:
        pytest.skip("buf is not installed (pip install buf-bin)")
    result = subprocess.run(
        [buf, "lint", str(image), "--config", str(ROOT / "buf.yaml"), "--path", "footnote"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_rpc_has_its_own_request_and_response(image: Path) -> None:
    files = descriptor_pb2.FileDescriptorSet.FromString(image.read_bytes()).file
    methods = [
        (file.package, method)
        for file in files
        if file.package.startswith("footnote.")
        for service in file.service
        for method in service.method
    ]
    assert len(methods) > 50
    for package, method in methods:
        assert method.input_type == f".{package}.{method.name}Request"
        answer = SHARED_RESPONSES.get(method.name, f"{method.name}Response")
        assert method.output_type == f".{package}.{answer}"


def test_services_share_types_only(image: Path) -> None:
    files = descriptor_pb2.FileDescriptorSet.FromString(image.read_bytes()).file
    shared = ("footnote/types/", "footnote/telemetry/", "google/")
    for file in files:
        if file.service:
            own = f"{Path(file.name).parent}/"  # the public API is a service and a file per noun
            if own.startswith("footnote/internal/"):  # what a stage says to our own services beside its contract
                own = f"footnote/{Path(own).parts[2]}/v1/"
            stages = () if file.package.startswith("footnote.edge.") else ("footnote/stages/",)
            assert all(name.startswith((*shared, *stages, own)) for name in file.dependency), file.name


def without_json_names(message: descriptor_pb2.DescriptorProto) -> None:
    for field in message.field:
        field.ClearField("json_name")  # an image spells out what generated code leaves to the default
    for nested in message.nested_type:
        without_json_names(nested)


def as_known(pool: descriptor_pool.DescriptorPool, name: str) -> descriptor_pb2.FileDescriptorProto:
    known = descriptor_pb2.FileDescriptorProto()
    pool.FindFileByName(name).CopyToProto(known)
    for message in known.message_type:
        without_json_names(message)
    for extension in known.extension:
        extension.ClearField("json_name")
    return known


def test_installed_contracts_are_those_of_the_protos(image: Path) -> None:
    fresh = descriptor_pool.DescriptorPool()
    ours = []
    for file in descriptor_pb2.FileDescriptorSet.FromString(image.read_bytes()).file:
        file.ClearField("source_code_info")
        fresh.Add(file)
        if file.package.startswith("footnote."):
            importlib.import_module(file.name.removesuffix(".proto").replace("/", ".") + "_pb2")
            ours.append(file.name)
    for name in ours:
        assert as_known(descriptor_pool.Default(), name) == as_known(fresh, name), (
            f"{name} changed since the contracts were generated: run `make protos`"
        )


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a user has who cloned the repository: the protos and buf's configuration, nothing generated."""
    shutil.copytree(ROOT / "protos", tmp_path / "protos")
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    (tmp_path / "libs").mkdir()
    shutil.copytree(ROOT / "libs" / "contracts", tmp_path / "libs" / "contracts", ignore=lambda *_: ["src"])
    return tmp_path


@pytest.mark.parametrize("command", ["lint", "build"])
def test_bare_buf_works_on_a_clone_without_a_network(clone: Path, command: str) -> None:
    buf = shutil.which("buf", path=str(Path(sys.executable).parent)) or shutil.which("buf")
    if buf is None:
        pytest.skip("buf is not installed (pip install buf-bin)")
    done = run(buf, command, cwd=clone)
    assert done.returncode == 0, done.stdout + done.stderr


def test_bare_protoc_needs_our_folder_only(clone: Path) -> None:
    files = [str(path.relative_to(clone / "protos")) for path in (clone / "protos" / "footnote").rglob("*.proto")]
    done = run(sys.executable, "-m", "grpc_tools.protoc", "-I", "protos", "--descriptor_set_out=out", *files, cwd=clone)
    assert done.returncode == 0, done.stderr


def test_every_file_says_what_each_language_calls_it(image: Path) -> None:
    wanted = ("go_package", "java_package", "java_outer_classname", "csharp_namespace", "ruby_package", "php_namespace")
    for file in descriptor_pb2.FileDescriptorSet.FromString(image.read_bytes()).file:
        if file.package.startswith("footnote."):
            assert all(file.options.HasField(name) for name in wanted), file.name
            assert file.options.java_multiple_files, file.name


def compared(folder: Path, *against: str) -> subprocess.CompletedProcess[str]:
    """Compare a folder's contracts with what was promised, as `make protos-lint` does."""
    environment = {**os.environ, "BIN": str(Path(sys.executable).parent)}
    return subprocess.run(
        ["sh", "libs/contracts/breaking.sh", *against],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def changed(clone: Path, file: str, before: str, after: str) -> None:
    path = clone / "protos" / "footnote" / file
    text = path.read_text(encoding="utf-8")
    assert before in text, f"{file} has no {before!r} any more: change this test"
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_the_contracts_keep_what_was_promised() -> None:
    done = compared(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


ANSWER = "types/v1/answer.proto"
BREAKS = {
    "another type": (ANSWER, "string quote = 7", "int32 quote = 7"),
    "another number": (ANSWER, "DegradationReason reason = 2;", "DegradationReason reason = 22;"),
    "another name": (ANSWER, "string quote = 7", "string words = 7"),
    "a field removed": (
        ANSWER,
        "  // The words of the source that support the sentence.\n"
        "  string quote = 7 [(google.api.field_behavior) = OUTPUT_ONLY];\n",
        "",
    ),
    "a value removed": (ANSWER, "  // Cut at max_tokens.\n  FINISH_REASON_MAX_TOKENS = 4;\n", ""),
    "a stage's field": ("retrieval/v1/retrieval_service.proto", "string query = 2", "bytes query = 2"),
    "a call removed": (
        "edge/v1/system.proto",
        """  rpc WhoAmI(WhoAmIRequest) returns (WhoAmIResponse) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (google.api.http) = {get: "/v1/whoami"};
  }
""",
        "",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BREAKS)
def test_a_break_of_what_was_promised_fails(clone: Path, name: str) -> None:
    changed(clone, *BREAKS[name])
    broken = compared(clone)
    assert broken.returncode != 0, name
    assert "protos-freeze" in broken.stdout


@pytest.mark.slow
def test_what_is_added_breaks_nothing_and_is_promised_by_a_freeze(clone: Path) -> None:
    message = "message Degradation {\n"
    changed(clone, ANSWER, message, f"{message}  // More.\n  string more = 99;\n")
    changed(clone, "types/v1/role.proto", "ROLE_ADMIN = 3;\n", "ROLE_ADMIN = 3;\n  // One more.\n  ROLE_MORE = 99;\n")
    done = compared(clone)
    assert done.returncode == 0, done.stdout + done.stderr
    frozen = clone / "libs" / "contracts" / "frozen.binpb.gz"
    assert run(sys.executable, "libs/contracts/generate.py", "--promised", str(frozen), cwd=clone).returncode == 0
    changed(clone, ANSWER, "  // More.\n  string more = 99;\n", "")
    assert compared(clone).returncode != 0


@pytest.mark.slow
def test_what_is_internal_is_not_promised(clone: Path) -> None:
    file = clone / "protos" / "footnote" / "indexing" / "internal" / "layout.proto"
    file.parent.mkdir(exist_ok=True)
    text = 'syntax = "proto3";\npackage footnote.indexing.internal;\nmessage ShelfOfTheTest { string key = 1; }\n'
    frozen = clone / "libs" / "contracts" / "frozen.binpb.gz"
    file.write_text(text, encoding="utf-8")
    assert run(sys.executable, "libs/contracts/generate.py", "--promised", str(frozen), cwd=clone).returncode == 0
    assert b"ShelfOfTheTest" not in gzip.decompress(frozen.read_bytes())
    file.write_text(text.replace("string", "int32"), encoding="utf-8")
    assert compared(clone).returncode == 0


@pytest.mark.slow
def test_a_revision_can_be_compared_with(clone: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed (apt-get install git)")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for order in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "release"]):
        assert run(*git, *order, cwd=clone).returncode == 0
    changed(clone, *BREAKS["another type"])
    assert compared(clone, "HEAD").returncode != 0


def test_names_of_public_rpcs_are_unique() -> None:
    assert len(PATHS) == len(METHODS), "footnote_kit.edge holds them by name"
