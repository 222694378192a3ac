"""Generates the Python package `footnote` (messages, stubs, types) from protos/.

Run by the build hook at install and by `make protos`. The output is not committed; `footnote/client`, which
stands in the same package, is, and is left alone.
With `--image FILE` it writes a descriptor image instead, for linting without a network; with
`--protos DIR` too, of the protos in that folder: an older checkout's, to look for breaking changes.
With `--promised FILE` it writes an image of the contracts that keep a promise, without comments: `make protos-freeze`
writes `frozen.binpb.gz` so, with which `make protos-lint` compares.
"""

import argparse
import gzip
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc_tools
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[2]
PROTOS = ROOT / "protos"
OUT = Path(__file__).resolve().parent / "src"
BY_HAND = ("client",)
"""Folders of the package that are sources like any other, and committed."""
ERROR_DETAILS = "google/rpc/error_details.proto"
"""What our errors carry; nothing of ours imports it, so that an image needs to be told."""


def proto_files(protos: Path) -> list[str]:
    """Return every proto of ours, sorted, relative to `protos`."""
    return sorted(str(path.relative_to(protos)) for path in (protos / "footnote").rglob("*.proto"))


def includes(protos: Path) -> list[str]:
    """Return protoc's include flags: ours with what we import of googleapis, and protobuf's well-known types."""
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    return [f"-I{protos}", f"-I{PROTOS}", f"-I{well_known}"]


def run(*arguments: str, protos: Path = PROTOS) -> None:
    """Call protoc in this process with all of our files and stop on an error."""
    if protoc.main(["protoc", *includes(protos), *arguments, *proto_files(protos)]) != 0:
        sys.exit("protoc failed; see its messages above")


def generate() -> None:
    """Replace all of libs/contracts/src/footnote but what is written by hand by freshly generated code."""
    package = OUT / "footnote"
    package.mkdir(parents=True, exist_ok=True)
    for old in package.iterdir():
        if old.name in BY_HAND:
            continue
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    plugins = Path(sys.executable).parent
    flags = []
    for name in ("mypy", "mypy_grpc"):
        plugin = shutil.which(f"protoc-gen-{name}", path=str(plugins)) or shutil.which(f"protoc-gen-{name}")
        if plugin is None:
            sys.exit(f"protoc-gen-{name} not found; install mypy-protobuf")
        flags += [f"--plugin=protoc-gen-{name}={plugin}", f"--{name}_out={OUT}"]
    run(f"--python_out={OUT}", f"--grpc_python_out={OUT}", *flags)
    made = [path for part in package.iterdir() if part.name not in BY_HAND for path in [part, *part.rglob("*")]]
    for folder in [package, *(path for path in made if path.is_dir())]:
        (folder / "__init__.py").write_text('"""Generated from protos/; do not edit."""\n')
    (package / "py.typed").touch()
    image(package / "contracts.binpb")


def image(path: Path, protos: Path = PROTOS) -> None:
    """Write the contracts with their comments, what they import, and what our errors carry, as one descriptor set."""
    run(f"--descriptor_set_out={path}", "--include_imports", "--include_source_info", ERROR_DETAILS, protos=protos)


def promised(path: Path, protos: Path = PROTOS) -> None:
    """Write the contracts that may not break, with what they import, as one descriptor set without comments, gzipped.

    Left out are packages named `internal`: our own services say them to one another, and change together.
    """
    with TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.binpb"
        run(f"--descriptor_set_out={whole}", "--include_imports", protos=protos)
        every = FileDescriptorSet.FromString(whole.read_bytes())
    kept = [file for file in every.file if not is_internal(file.package)]
    path.write_bytes(gzip.compress(FileDescriptorSet(file=kept).SerializeToString(deterministic=True), mtime=0))


def is_internal(package: str) -> bool:
    """Tell whether a package keeps no promise."""
    return "internal" in package.split(".")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=Path, help="write a descriptor image here instead of Python")
    parser.add_argument("--promised", type=Path, help="write an image of the contracts that may not break")
    parser.add_argument("--protos", type=Path, default=PROTOS, help="with an image: read these protos")
    arguments = parser.parse_args()
    if arguments.promised is not None:
        promised(arguments.promised, arguments.protos.resolve())
    elif arguments.image is None:
        generate()
    else:
        image(arguments.image, arguments.protos.resolve())


if __name__ == "__main__":
    main()
