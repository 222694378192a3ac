"""The contracts: lint-clean, every element commented, generated code current."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

ROOT = Path(__file__).resolve().parents[2]
GENERATE = ROOT / "libs" / "contracts" / "generate.py"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("image") / "footnote.binpb"
    subprocess.run([sys.executable, str(GENERATE), "--image", str(path)], check=True)
    return path


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
        assert method.output_type == f".{package}.{method.name}Response"


def test_services_share_types_only(image: Path) -> None:
    files = descriptor_pb2.FileDescriptorSet.FromString(image.read_bytes()).file
    shared = ("footnote/types/", "footnote/telemetry/", "google/")
    for file in files:
        if file.service:
            assert all(name.startswith(shared) for name in file.dependency), file.name


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
