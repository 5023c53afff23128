"""What there is to choose from while a prompt is typed: models, sessions, and `@`."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Sequence

from ..core.errors import SettingsError
from ..core.sessions import catalogue
from ..core.settings import Loaded
from ..core.workspace.ignore import Extra
from ..core.workspace.listing import files_in
from ..core.workspace.picker import SHOWN, Candidates, Paths, beside
from ..core.workspace.threads import in_thread
from . import compat
from .completion import pointed
from .services import Services

SECONDS = 0.3  # that Tab waits for the agent's thread


class ServicesOffers:
    """Of one kernel. `at` is for the agent's thread, all else for main."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._paths = Paths(self._listed, services.clock)

    def models(self) -> Sequence[str]:
        """Those that the person named and those that an endpoint listed before."""
        loaded, opened = self._loaded(), self._services.conversation.opened
        names = [loaded.settings.model] if loaded else []
        names += [opened.session.model] if opened else []
        return tuple(filter(None, dict.fromkeys([*names, *self._services.models.listed])))

    def sessions(self) -> Sequence[str]:
        services = self._services
        found = catalogue.sessions(services.folders.sessions_dir, project=services.project.root)
        return tuple(catalogue.short_ids(each.id for each in found).values())

    def paths(self, query: str) -> Sequence[str]:
        """As `at` finds them, or what is at once where the agent's thread is held up."""
        asked = self._services.thread.spawn(lambda: self._ranked(query))
        try:
            return asked.result(SECONDS)
        except concurrent.futures.TimeoutError:
            asked.cancel()
            return ()

    async def at(self, query: str) -> Sequence[str]:
        """What an `@` may point at, the likeliest first."""
        services, loaded = self._services, self._loaded()
        variables = services.namespace(loaded).variables() if loaded else ()
        ran, paths = compat.inputs(services.shell), await self._ranked(query)
        return pointed(query, variables, ran, paths)[:SHOWN]

    async def _ranked(self, query: str) -> list[str]:
        """From the last listing; what is in the folder that the query names comes at once."""
        near = await in_thread(beside, self._services.project.root, query, self._ignored())
        far = self._paths.known.rank(query)
        return Candidates([*near, *far]).rank(query)

    def _ignored(self) -> tuple[str, ...]:
        loaded = self._loaded()
        return loaded.settings.ignore if loaded else ()

    def _loaded(self) -> Loaded | None:
        """None where the settings are broken, which the prompt tells."""
        try:
            return self._services.settings()
        except SettingsError:
            return None

    async def _listed(self) -> list[bytes]:
        root = self._services.project.root
        return await files_in(root, Extra(root, self._ignored()), self._services.processes)
