"""Error responses before routing, in the format that the path's clients expect."""

from footnote_kit.errors import FootnoteError
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from footnote_edge.http.serving.problems import MEDIA_TYPE, headers_of, openai_error, problem, status_of

_OPENAI = ("/v1/chat/", "/v1/models")


async def refuse(error: FootnoteError, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to a request with an error."""
    headers = headers_of(error)
    if scope["path"].startswith(_OPENAI):
        response = JSONResponse(openai_error(error), status_of(error), headers)
    else:
        response = JSONResponse(problem(error), status_of(error), headers, media_type=MEDIA_TYPE)
    await response(scope, receive, send)
