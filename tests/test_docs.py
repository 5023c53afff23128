"""The documentation says what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def test_generated_tables_are_up_to_date() -> None:
    check = [sys.executable, str(ROOT / "scripts" / "docs.py"), "--check"]
    run = subprocess.run(check, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_architecture_names_every_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "shiro_jupyter"
    rooms = {each.parent for each in package.rglob("*.py")} - {package}
    missing = [
        name
        for name in (str(room.relative_to(package)) for room in rooms)
        if f"`{name}/`" not in text and name not in ("core", "kernel/tools")
    ]
    assert not missing


def test_every_make_target_of_the_readme_exists() -> None:
    made = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)", "".join(p.read_text() for p in PAGES)))
    assert {"demo", "test"} <= named <= made
