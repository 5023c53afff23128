"""What the source tells of the commands is what is registered."""

from __future__ import annotations

from shiro_jupyter.kernel import host as host  # registers all of them
from shiro_jupyter.kernel.command_names import arguments_by_command
from shiro_jupyter.kernel.commands import COMMANDS


def test_the_source_names_each_command_that_is_registered() -> None:
    registered = {each.name: each.arguments for each in COMMANDS.values()}
    assert dict(arguments_by_command()) == registered
