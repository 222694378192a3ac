"""HTTP routes declared by google.api.http annotations in the contract."""

import re
from dataclasses import dataclass

from footnote_kit.edge import METHODS
from google.api import annotations_pb2
from google.protobuf.descriptor import MethodDescriptor

_VERBS = ("get", "post", "put", "patch", "delete")
_VARIABLE = re.compile(r"\{([a-z_]+)(?:=(\*\*))?\}")  # with "=**" it may contain slashes


@dataclass(frozen=True, slots=True)
class Rule:
    """One route: `body` is "*", a field's name, or empty; `variables` are fields of the request."""

    method: MethodDescriptor
    verb: str
    template: str
    body: str
    variables: tuple[str, ...]

    @property
    def path(self) -> str:
        """Return the path template in Starlette's syntax."""
        return _VARIABLE.sub(lambda match: "{" + match[1] + (":path" if match[2] else "") + "}", self.template)

    @property
    def documented_path(self) -> str:
        """Return the path template in OpenAPI's syntax."""
        return _VARIABLE.sub(lambda match: "{" + match[1] + "}", self.template)


def rules() -> list[Rule]:
    """Return every annotated route, custom verbs (":watch") before simpler paths that would match too."""
    found = []
    for method in METHODS:
        options = method.GetOptions()
        if not options.HasExtension(annotations_pb2.http):
            continue
        http = options.Extensions[annotations_pb2.http]
        for rule in (http, *http.additional_bindings):
            verb = rule.WhichOneof("pattern")
            if verb not in _VERBS:
                raise ValueError(f"{method.full_name}: only {', '.join(_VERBS)} are served")
            template = getattr(rule, verb)
            found.append(
                Rule(method, verb.upper(), template, rule.body, tuple(name for name, _ in _VARIABLE.findall(template)))
            )
    return sorted(found, key=lambda rule: (":" not in rule.template.rsplit("/", 1)[-1], rule.template))
