"""The contracts: lint-clean, every element commented, generated code current."""

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
    path = tmp_path_factory.mktemp("image") / "footnote.binpb"
    subprocess.run([sys.executable, str(GENERATE), "--image", str(path)], check=True)
    return path


SHARED_RESPONSES = {"RegenerateMessage": "AskResponse", "EditMessage": "AskResponse"}
"""What answers a question anew streams what Ask streams: clients read one kind of event."""


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
            assert all(name.startswith((*shared, own)) for name in file.dependency), file.name


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


@pytest.mark.slow
def test_a_break_against_the_last_release_fails(clone: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed (apt-get install git)")
    script = ["sh", "libs/contracts/breaking.sh"]
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    environment = {**os.environ, "BIN": str(Path(sys.executable).parent)}

    def compared() -> subprocess.CompletedProcess[str]:
        return subprocess.run(script, cwd=clone, env=environment, capture_output=True, text=True, check=False)

    for order in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "release"]):
        assert run(*git, *order, cwd=clone).returncode == 0
    assert "nothing to compare with" in compared().stdout
    assert run(*git, "tag", "v1.0.0", cwd=clone).returncode == 0
    file = clone / "protos" / "footnote" / "types" / "v1" / "answer.proto"
    text = file.read_text(encoding="utf-8")
    message = "message Degradation {\n"
    assert message in text
    file.write_text(text.replace(message, f"{message}  // More.\n  string more = 99;\n"), encoding="utf-8")
    assert compared().returncode == 0, compared().stdout
    file.write_text(text.replace("DegradationReason reason = 2;", "DegradationReason reason = 22;"), encoding="utf-8")
    broken = compared()
    assert broken.returncode != 0
    assert "Degradation" in broken.stdout + broken.stderr


def test_names_of_public_rpcs_are_unique() -> None:
    assert len(PATHS) == len(METHODS), "footnote_kit.edge holds them by name"
