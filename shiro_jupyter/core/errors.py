"""The one error tree. Each leaf says who can mend it and builds its own sentence.

ShiroError
├── ModelMendable           its text goes back to the model as the call's result
│   ├── InvalidArguments
│   ├── ToolFailed
│   │   ├── EditRefused     an edit does not fit its file
│   │   └── BrokenNotebook  a file that cannot be read as a notebook
│   ├── PathRefused
│   ├── TextRefused
│   ├── MemoryRefused
│   │   └── MemoryClose     a memory says something else of the same
│   └── NoteRefused
├── UserMendable            one sentence for the person, with the next step
│   ├── SettingsError
│   ├── NotConfigured
│   ├── UsageError
│   ├── StorageError
│   ├── TurnFailed          a turn failed where nobody could see it
│   ├── NotCompacted        a summary would not help; nothing was changed
│   ├── LimitReached        a bound on what a turn may take; it ends there
│   └── EndpointError       the model server, or the way to it
│       ├── EndpointRefused     400, 401, 403, 404, context too long
│       ├── EndpointBusy        429, 5xx: worth another try
│       ├── EndpointUnreachable refused connection, DNS, TLS, not an API at all
│       ├── EndpointSilent      idle deadline passed
│       └── StreamBroken        cut, corrupt, or an error inside the stream
└── OurFault                a bug: say what happened, keep the session
"""

from __future__ import annotations

from typing import ClassVar, Literal


class ShiroError(Exception):
    """`str(error)` is the sentence to show: what happened, and what to do next."""

    mender: ClassVar[Literal["model", "user", "us"]] = "us"


class ModelMendable(ShiroError):
    mender = "model"


class InvalidArguments(ModelMendable):
    """The arguments of a call do not fit the tool's parameters."""


class ToolFailed(ModelMendable):
    """The tool ran and could not do what was asked."""


class EditRefused(ToolFailed):
    """An edit does not fit its file, which is as it was. `excerpt` shows the lines in question, to
    whom may read the file."""

    def __init__(self, sentence: str, excerpt: str = "") -> None:
        super().__init__(sentence)
        self.excerpt = excerpt


class BrokenNotebook(ToolFailed):
    """A file is no notebook that can be read."""


class PathRefused(ModelMendable):
    """The path leaves the folders that tools may touch, or is no regular file."""


class TextRefused(ModelMendable):
    """A text that may not be stored: too long, several lines, or a secret."""


class MemoryRefused(ModelMendable):
    """A memory asked for is not there, or several are; nothing was changed."""


class MemoryClose(MemoryRefused):
    """A memory of the same subject claims something else; `id` is that one's."""

    def __init__(self, known: str, text: str) -> None:
        super().__init__(
            f"Not recorded: memory {known} says “{text}”. Call again with replaces {known} to put "
            "the new text in its place, or with keep_both where both are true."
        )
        self.id, self.text = known, text


class NoteRefused(ModelMendable):
    """An edit that the rules of a session's note do not allow; nothing was changed."""


class UserMendable(ShiroError):
    mender = "user"


class SettingsError(UserMendable):
    """A settings source is broken; the sentence names file, key and nearest right name."""


class NotConfigured(UserMendable):
    """No model to talk to; the sentence names the ways to connect one."""


class UsageError(UserMendable):
    """A magic or a command was called wrongly."""


class StorageError(UserMendable):
    """A file of ours could not be read or written."""


class TurnFailed(UserMendable):
    """A turn did not end with an answer, where nobody is there to see that."""


class NotCompacted(UserMendable):
    """The conversation stays as it is, since a summary could not stand for it."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The conversation was not compacted: {why}; go on as it is, or begin a new one with "
            "/clear."
        )


class LimitReached(UserMendable):
    """A bound on what a turn, a session or a day may take: the turn stops here, with its reason."""


class EndpointError(UserMendable):
    """The model endpoint, or the way to it.

    `code` is the endpoint's own word for the fault, `TOO_LONG` where the context is too long.
    `retryable` may be settled for one error where it differs from its kind.
    """

    TOO_LONG: ClassVar[str] = "context_length_exceeded"
    retryable: bool = False

    def __init__(
        self,
        sentence: str,
        *,
        retry_after: float | None = None,
        code: str = "",
        retryable: bool | None = None,
    ) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after
        self.code = code
        if retryable is not None:
            self.retryable = retryable


class EndpointRefused(EndpointError):
    """The endpoint understood and said no: bad request, key, model or length."""


class KeyRefused(EndpointRefused):
    """The key is wrong, or one is wanted where none is set."""


class EndpointBusy(EndpointError):
    """Rate limit or server fault: another try may succeed."""

    retryable = True


class EndpointUnreachable(EndpointError):
    """No model API answers at that address."""

    retryable = True


class EndpointSilent(EndpointError):
    """Nothing came for longer than the idle deadline."""


class StreamBroken(EndpointError):
    """The stream ended without a finish, held a corrupt chunk, or carried an error.

    Retried only before the first visible event.
    """

    retryable = True


class OurFault(ShiroError):
    """A state that cannot be; always a bug of this project."""
