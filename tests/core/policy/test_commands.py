from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.policy.commands import read_command
from shiro_jupyter.core.policy.destructive import destruction
from shiro_jupyter.core.policy.launchers import unwrapped


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("git status", ["git status"]),
        ("a; b && c || d | e & f\ng", ["a", "b", "c", "d", "e", "f", "g"]),
        ("a 'x; y' \"p && q\" r\\;s", ["a x; y p && q r;s"]),
        ("git \\\n status", ["git status"]),
        ("ls # rm -rf /", ["ls"]),
        ("a |& b;; c", ["a", "b", "c"]),
        ('echo "" x', ["echo  x"]),
        ("", []),
    ],
)
def test_a_line_is_split_into_its_commands(text: str, commands: list[str]) -> None:
    reading = read_command(text)
    assert [" ".join(words) for words in reading.commands] == commands
    assert reading.certain


@pytest.mark.parametrize(
    "text",
    [
        "echo $(id)",
        "echo `id`",
        'echo "$(id)"',
        "echo $HOME",
        "echo ${x:-$(id)}",
        "ls > out",
        "ls 2>&1",
        "ls &> out",
        "cat < in",
        "cat <<EOF\nid\nEOF",
        "diff <(a) <(b)",
        "(cd x)",
        "{ ls; }",
        "if true; then ls; fi",
        "! ls",
        "A=1 ls",
        "f() { ls; }",
        "bash -c 'ls'",
        "eval ls",
        "find . -exec ls {} +",
        "find . -delete",
        "echo 'open",
        'echo "open',
        "echo $'a'",
        "echo a{b,c}",
        "echo {1..3}",
        "echo {a}b,c}",
        "a[;]",
        "echo {a{b}c,d}",
        "echo {a'{',b}",
        "ls \\",
        "a\0b",
        "rm${IFS}x",
        "\x1b[2K",
    ],
)
def test_what_could_run_or_write_more_is_uncertain(text: str) -> None:
    assert not read_command(text).certain


@pytest.mark.parametrize(
    "text",
    [
        "echo $(touch it)",
        "echo `touch it`",
        'echo "a $(touch it) b"',
        "echo $(echo $(touch it))",
        "bash -c 'touch it'",
        "sudo sh -ec 'touch it'",
        "eval touch it",
        "watch -n 1 touch it",
        "env -S 'touch it'",
        "su - me -c 'touch it'",
        "find . -exec sh -c 'touch it' ;",
        "(touch it)",
        "diff <(touch it) x",
        "echo ${x:-$(touch it)}",
        "x=1; touch it",
        "bash -c \"bash -c 'touch it'\"",
        "cat >n.md <<'EOF'\nit's\nEOF\ntouch it",
        "cat <<EOF\nit's\nEOF\ntouch it",
        'cat <<-\\EOF\n\t"it\n\tEOF\ntouch it',
        "cat <<EOF\nit's $(touch it)\nEOF",
        "cat <<EOF\nit's \\\nEOF\n`touch it`\nEOF",
        "git commit -m \"$(cat <<'EOF'\nit's :)\nEOF\n)\"; touch it",
        "bash <<EOF\ntouch it\nEOF",
        "sudo bash -s <<'EOF'\ntouch it\nEOF",
        "bash <<< 'touch it'",
        ". /dev/stdin <<< 'touch it'",
        'echo "in $\'s"; touch it',
        "echo $'it\\'s'; touch it",
        "$'t\\x6fuch' it",
        "echo $(echo ')'; touch it; echo '\"')",
        "echo $(case a in a) touch it;; esac)",
        'echo "${x:-"}"}"; touch it',
        "echo ${y:-`touch it`}",
        "echo $((1 << 2))\ntouch it",
        "((x = 1 << 2))\ntouch it",
        "bash -c -- 'touch it'",
        "bash -c -e 'touch it'",
        "bash -c -o pipefail 'touch it'",
        "env -S'touch it'",
        "env -vS 'touch it'",
        "env --split-string='touch it'",
        "trap 'touch it' EXIT",
        "flock x -c 'touch it'",
        "eval 'a=1; touch it'",
        "git -c alias.x='!touch it' x",
        "{fd}>f touch it",
    ],
)
def test_nested_commands_are_read_too(text: str) -> None:
    assert ("touch", "it") in read_command(text).commands


def test_what_a_launcher_starts_is_seen() -> None:
    for text in (
        "sudo -u root touch it",
        "env -u X A=1 touch it",
        "timeout -s KILL 5 touch it",
        "nice -n 5 nohup touch it",
        "A=1 touch it",
        "then touch it",
        "xargs -n 1 touch it",
        "find . -name x -exec touch it",
        "find . -exec true ; -exec touch it ;",
        "a[0]=1 touch it",
        "function f { touch it",
        "coproc X { touch it",
        "timeout --signal KILL 5 touch it",
        "env --chdir / touch it",
        "nice --adjustment 5 touch it",
        "nice -n5 touch it",
        "stdbuf --output L touch it",
        "sudo --user root touch it",
        "sudo -nu root touch it",
        "sudo -- touch it",
        "flock x touch it",
        "taskset 1 touch it",
        "chrt -o 0 touch it",
        "setarch -R touch it",
        "uv run --with x touch it",
        "conda run -n x touch it",
        "parallel -j 2 touch it",
    ):
        assert ("touch", "it") in unwrapped(tuple(text.split())), text


@pytest.mark.parametrize(
    "text",
    [
        *("c=touch; $c it", "to$@uch it", "to$(true)uch it", "to${z}uch it", "to?ch it"),
        *("$(echo a/touch) it", "`which touch` it", "env $X it", 'bash -c "$x"', "eval $x"),
        *("echo 'touch it' | sh", "bash", "source <(echo touch it)", "cat <<EOF | bash -x\nEOF"),
        *("echo 'open", "cat <<EOF\nno end", "echo $(open", "a\rb", "t{,} it$IFS"),
        *("shopt -s expand_aliases\nalias q=touch\nq it", "((a) ; (touch it) )"),
    ],
)
def test_a_command_that_may_be_any_is_not_followed(text: str) -> None:
    assert not read_command(text).followed


EVERYDAY = """
ls > out 2>&1
cd $HOME/x && A=1 python -m pytest "$x" | tee log
for f in *.csv; do wc -l "$f"; done
while read -r x; do echo $x; done < list
if [ -f x ]; then rm x; fi
if [[ $x == *.py ]]; then echo y; fi
case $x in *.py) echo a;; b) echo b;; esac
f() { echo "$1"; }; f x
x=$(git rev-parse HEAD); echo "${x:0:8} $((1 + 2))"
a=(1 "$x" *.csv); echo "${a[@]}"
git commit -m "$(cat <<'EOF'\\nit's :) done `here`\\nEOF\\n)"
python3 - <<'EOF'\\nprint("it's")\\nx = {'a': [1]}\\nEOF
cat > notes.md <<EOF\\nIt's $HOME (or "so\\nEOF
find . -name '*.pyc' -print0 | xargs -0 -n 1 grep -l x
find . -name x -exec grep -l y {} +
"$VENV/bin/python" x.py
bash script.sh && sh -c 'ls | wc -l' && source .venv/bin/activate
docker run --rm -v "$PWD:/x" image rm x
awk '{print $1, $2}' x | sort | uniq -c
curl -s x | python3 -m json.tool
""".strip().splitlines()


@pytest.mark.parametrize("text", EVERYDAY)
def test_everyday_commands_are_followed(text: str) -> None:
    text = text.replace("\\n", "\n")
    assert read_command(text).followed
    assert not destruction(text)


def test_a_backslash_that_escapes_nothing_stays() -> None:
    assert read_command("a\\").commands == (("a\\",),)
    assert read_command("echo $'a\\ b\\n\\x41'").commands == (("echo", "a\\ b\nA"),)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1)))
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    reading = read_command(shlex.join(["run", *words]))
    assert reading.commands == (("run", *words),)
    assert reading.certain


# Tells each command that bash runs, word by word: none of these names is a command.
TELL = """
command_not_found_handle() { printf '%s\\1' "$@" $'\\2' >&7; return 0; }
set -f
exec 7>&1 >/dev/null </dev/null
for text; do eval "$text"; wait; printf '\\3' >&7; done
"""
PIECES = [*"abc'\"\\;|&#$*?![]-=,%@+{}<>()`é \n", "&&", "||", "$(", "then", "do", "''", "\\\n"]
BASH = shutil.which("bash") or ""


def is_bash_4() -> bool:
    run = [BASH, "-c", "((BASH_VERSINFO >= 4))"]
    return bool(BASH) and subprocess.run(run, check=False).returncode == 0


@pytest.mark.skipif(not is_bash_4(), reason="needs a bash 4, which tells what it would run")
@settings(max_examples=30)
@given(
    st.lists(
        st.lists(st.sampled_from([*PIECES, " ", " "]), max_size=9).map("".join),
        min_size=20,
        max_size=20,
    )
)
def test_bash_runs_nothing_that_a_certain_reading_has_not_named(texts: list[str]) -> None:
    texts = [text for text in texts if read_command(text).certain]
    run = subprocess.run(
        [BASH, "--norc", "-c", TELL, "bash", *texts],
        capture_output=True,
        env={"PATH": "/nowhere", "LC_ALL": "C.UTF-8"},
        cwd="/",
        check=False,
    )
    told = run.stdout.decode().split("\3")[:-1]
    assert len(told) == len(texts)
    for text, told_of_it in zip(texts, told, strict=True):
        ran = {tuple(each.split("\1")[:-1]) for each in told_of_it.split("\2\1")[:-1]}
        assert ran - {()} <= set(read_command(text).commands), text


@given(st.text(st.sampled_from("ab $`'\"\\;&|(){}<>\n#*~=-/!"), max_size=40))
def test_any_text_is_read_and_the_reading_ends(text: str) -> None:
    certain = read_command(text).certain
    if certain and not set("#'\"\\") & set(text):
        assert not set("`<>()") & set(text)
        assert not re.search(r"\$[^\s;&|]", text)
    destruction(text)


@pytest.mark.parametrize(
    "piece", ["{", "{ ", "a{b}", "word ", "ABCD", "f(){", "it's & ", "$(", "`"]
)
def test_a_long_text_is_judged_in_time(piece: str) -> None:
    """The loop stands still meanwhile, so the time must grow with the text and not its square."""
    began = time.process_time()
    destruction("cat > f <<'EOF'\n" + piece * (30_000 // len(piece)) + "\nEOF")
    destruction("echo & " + piece * (30_000 // len(piece)))
    assert time.process_time() - began < 2


DESTRUCTIVE = """
rm -rf /
rm  -r   -f    /
rm -fr /*
rm / -rf
rm -rf -- /
rm --recursive --force /
rm -r --no-preserve-root /
'rm' -r"f" /
r\\m -rf /
/bin/rm -rf /
sudo rm -rf /
sudo -u root env A=1 rm -rf /etc
command rm -rf ~
rm -rf ~/
rm -rf ~/*
rm -rf "$HOME"
rm -rf ${HOME}/*
rm -rf ~root
rm -rf //
rm -rf /usr/..
rm -rf /home/*
rm${IFS}-rf${IFS}/
{rm,-rf,/}
$'rm' -rf /
echo ok; rm -rf /
true && (rm -rf /)
echo $(rm -rf /)
echo "`rm -rf /`"
bash -c 'rm -rf /'
bash -lc "sudo rm -rf /"
eval rm -rf /
find . -exec rm -rf / ;
env -S "rm -rf /"
su -c 'rm -rf /'
if true; then rm -rf /; fi
nohup rm -rf / &
timeout 5 rm -rf /
xargs rm -rf / < list
find / -delete
find ~ -name x -exec rm {} \\;
mv ~ /dev/null
chmod -R 777 /
chown -R me /usr
mkfs.ext4 /dev/sda1
dd if=/dev/zero of=/dev/sda
cat x > /dev/nvme0n1
:(){ :|:& };:
function b { b | b& }; b
cat >n.md <<'EOF'\\nit's\\nEOF\\nrm -rf ~
bash <<< 'rm -rf /'
rm -rf /home/alice
rm -rf /home/alice/*
rm -rf ${HOME:?}/*
cd / && rm -rf *
cd ~; rm -rf .
rm -rf /{bin,etc}
rm -rf ~/.[!.]*
rm -rf ~/{*,.*}
mv -t /tmp ~
mv ~ /tmp/x
cat x > /dev/disk/by-id/y
mke2fs /dev/sda1
blkdiscard /dev/sda
truncate -s 0 /dev/sda
parallel rm -rf ::: /
kill -9 -1
""".strip().splitlines()

HARMLESS = """
rm -rf build
rm -rf /tmp/x
rm -rf ~/project/build
rm -rf ./~
rm -rf /home/alice/build
cd ~ && rm -rf build
cd build && rm -rf *
mv /tmp/x ~
mv -t ~ x
rm file
rm /
find . -delete
find / -name x
echo hi
echo rm -rf /
git commit -m 'never rm -rf /'
chmod -R u+w .
mv a /tmp
cp a /tmp
ls / ~
dd if=a of=b
kill -9 123
cat x > /dev/null
""".strip().splitlines()


@pytest.mark.parametrize("text", DESTRUCTIVE)
def test_plain_destruction_is_seen(text: str) -> None:
    assert destruction(text.replace("\\n", "\n"))


def test_a_home_is_known_by_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/data/people/me")
    assert destruction("rm -rf /data/people/me/*")
    assert not destruction("rm -rf /data/people/me/build")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_destroys_nothing_large_is_left_alone(text: str) -> None:
    assert not destruction(text)


@given(st.sampled_from(["; {}", "a && {}", "a | {}", "a\n{}", "(  {} )", "echo $({})", "sudo {}"]))
def test_destruction_is_seen_in_any_place(place: str) -> None:
    assert destruction(place.format("rm -rf /"))
