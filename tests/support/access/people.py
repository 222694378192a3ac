"""Who calls, what the contracts let each of them do, and the keys that they call with.

The rules are written from `protos/footnote/types/v1/{role,collection}.proto`, never from the code that keeps them.
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from support.base_environment import inherited

# One interpreter makes all keys: what takes long is its start.
MAKER = """
import contextlib, io, json, sys
from footnote_cli.main import run
made = []
for arguments in json.loads(sys.stdin.read()):
    sys.argv, said, code = ["footnote", *arguments], io.StringIO(), 0
    with contextlib.redirect_stdout(said):
        try:
            run()
        except SystemExit as end:
            code = end.code
    made.append([code or 0, said.getvalue()])
print(json.dumps(made))
"""


class Right(IntEnum):
    """A person's access to a collection."""

    NONE = 0
    READ = 1
    WRITE = 2
    MANAGE = 3


ROLE_LEVEL = {"": 0, "reader": 1, "writer": 2, "admin": 3}


@dataclass(frozen=True)
class Person:
    """A caller: a name for the report, and what its key says."""

    name: str
    tenant: str
    user: str
    role: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grant:
    """The grantee of a private collection; one of `user` and `group`."""

    right: Right
    user: str = ""
    group: str = ""

    def json(self) -> dict[str, str]:
        """Return it as the contract's JSON."""
        access = "ACCESS_WRITE" if self.right is Right.WRITE else "ACCESS_READ"
        return {"user_id": self.user, "access": access} if self.user else {"group": self.group, "access": access}


def right_in(person: Person, tenant: str, owner: str, private: bool, grants: Sequence[Grant]) -> Right:
    """Return what a person may do in a collection."""
    if not person.role or person.tenant != tenant:
        return Right.NONE
    if person.role == "admin":
        return Right.MANAGE
    if not private:
        return Right.WRITE if person.role == "writer" else Right.READ
    best = Right.MANAGE if person.user == owner else Right.NONE
    for grant in grants:
        if grant.user == person.user or (grant.group and grant.group in person.groups):
            best = max(best, grant.right)
    return min(best, Right.READ) if person.role == "reader" else best


@dataclass
class Cast:
    """Everybody in the matrix, with their keys."""

    acme: str
    globex: str
    read_group: str
    write_group: str
    groups_work: bool
    people: dict[str, Person] = field(default_factory=dict)
    keys: dict[Person, str] = field(default_factory=dict)
    makers: dict[Person, str] = field(default_factory=dict)
    """Keys that seed a person's things where its own role doesn't let it."""
    skipped: list[str] = field(default_factory=list)

    def actors(self) -> list[Person]:
        """Return those whose rights are tried."""
        return [person for person in self.people.values() if not person.name.startswith("seeder")]

    def grants(self) -> list[Grant]:
        """Return the grantee of the matrix's private collection."""
        users = {"granted read": Right.READ, "granted write": Right.WRITE, "reader granted write": Right.WRITE}
        given = [Grant(right, user=self.people[name].user) for name, right in users.items()]
        if self.groups_work:
            given += [Grant(Right.READ, group=self.read_group), Grant(Right.WRITE, group=self.write_group)]
        return given


def word(prefix: str = "") -> str:
    """Return an unguessable word, of lower-case letters only, so that no tokenizer splits it."""
    return prefix + "".join(secrets.choice("bcdfghjklmnpqrstvwxz") for _ in range(14))


def assemble(folder: Path, python: str = sys.executable) -> Cast:
    """Invent everybody and make their keys in a deployment's folder."""
    groups_work = "--group" in _make([["keys", "create", "--help"]], python)[0]
    cast = Cast(word("acme"), word("globex"), word("lab"), word("crew"), groups_work)
    olga = word("olga")

    def add(name: str, role: str, user: str = "", tenant: str = "", groups: tuple[str, ...] = ()) -> None:
        cast.people[name] = Person(name, tenant or cast.acme, user or word("user"), role, groups)

    add("nobody", "")
    # A user with the name of a group does not get the group's access.
    add("reader", "reader", user=cast.read_group)
    add("writer", "writer", groups=(word("strangers"),) if groups_work else ())
    add("admin", "admin")
    add("owner", "writer", user=olga)
    add("granted read", "writer")
    add("granted write", "writer")
    add("reader granted write", "reader")
    if groups_work:
        add("in group read", "writer", groups=(word("others"), cast.read_group))
        add("in group write", "writer", groups=(cast.write_group,))
    else:
        cast.skipped += ["in group read", "in group write"]
    # The owner's user id, but of another tenant, and in the groups' names too.
    both = (cast.read_group, cast.write_group) if groups_work else ()
    add("namesake in another tenant", "admin", user=olga, tenant=cast.globex, groups=both)
    add("seeder sam", "admin")
    add("seeder nina", "writer")
    add("seeder tom", "admin", tenant=cast.globex)
    known = [person for person in cast.people.values() if person.role]
    cast.keys = dict(zip(known, make_keys(folder, known, python), strict=True))
    return cast


def make_keys(folder: Path, people: Sequence[Person], python: str = sys.executable, role: str = "") -> list[str]:
    """Make a key for each person, of its own role or of another."""
    calls = []
    for person in people:
        call = ["keys", "create", person.name, "--tenant", person.tenant, "--user", person.user]
        call += ["--role", role or person.role, "--data-dir", str(folder), "--json"]
        for group in person.groups:
            call += ["--group", group]
        calls.append(call)
    return [str(json.loads(said)["key"]) for said in _make(calls, python)]


def _make(calls: list[list[str]], python: str) -> list[str]:
    environment = inherited() | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(
        [python, "-c", MAKER], input=json.dumps(calls), capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert all(code == 0 for code, _ in answers), answers
    return [said for _, said in answers]
