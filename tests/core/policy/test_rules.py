from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import SettingsError
from shiro_jupyter.core.policy.rules import Rule, Rules, parse_rule, permits, restricts
from shiro_jupyter.core.policy.subjects import Access, Subject


def bash(command: str) -> Subject:
    return Subject("bash", "shell", (command,))


def path(*texts: str, access: Access = "read", tool: str = "read_file") -> Subject:
    return Subject(tool, access, texts)


def allows(rule: str, subject: Subject) -> bool:
    return permits([parse_rule(rule)], subject)


def denies(rule: str, subject: Subject) -> bool:
    return restricts([parse_rule(rule)], subject) is not None


def test_rules_are_parsed_and_shown() -> None:
    assert parse_rule("bash(rm -rf *)") == Rule("bash", "rm -rf *")
    assert parse_rule(" bash ") == Rule("bash", "*") == parse_rule("bash()")
    assert parse_rule("bash(echo (x))").pattern == "echo (x)"
    assert str(parse_rule("read(a/**)")) == "read(a/**)"
    for wrong in ("", "rm -rf /", "(x)", "bash(x", "bash)x("):
        with pytest.raises(SettingsError, match="is no rule"):
            parse_rule(wrong)


def test_a_rule_names_a_tool_or_an_access_class() -> None:
    subject = path("a.ipynb", access="write", tool="edit_file")
    for rule in ("edit_file", "write", "write(*.ipynb)", "edit*", "*"):
        assert allows(rule, subject) and denies(rule, subject)
    for rule in ("read", "write_file", "shell", "write(*.py)"):
        assert not allows(rule, subject) and not denies(rule, subject)


@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        ("secrets/**", ["secrets/a", "secrets/b/c", "secrets"], ["a/secrets/x", "secrets2/a"]),
        ("secrets", ["secrets/a", "x/secrets/b", "secrets"], ["secrets2"]),
        ("*.ipynb", ["a.ipynb", "deep/er/b.ipynb"], ["a.ipynb.bak", "ipynb"]),
        ("data/*.csv", ["data/a.csv"], ["data/x/a.csv", "other/data/a.csv"]),
        ("data/**/a.csv", ["data/a.csv", "data/x/y/a.csv"], ["a.csv"]),
        ("a?.txt", ["ab.txt", "x/ab.txt"], ["a.txt", "a/.txt"]),
        ("/srv/x", ["/srv/x/a"], ["srv/x/a"]),
        ("*", ["a", "a/b", ".env"], []),
        ("**", ["a", "a/b", "/x"], []),
    ],
)
def test_path_patterns(pattern: str, fits: list[str], not_fits: list[str]) -> None:
    for text in fits:
        assert denies(f"read({pattern})", path(text)), text
        assert allows(f"read({pattern})", path(text)), text
    for text in not_fits:
        assert not denies(f"read({pattern})", path(text)), text
        assert not allows(f"read({pattern})", path(text)), text


def test_one_path_denied_denies_all_and_one_unknown_allows_none() -> None:
    several = path("data/a", "secrets/b")
    assert denies("read(secrets/**)", several)
    assert not allows("read(data/**)", several)
    assert permits([parse_rule("read(data/**)"), parse_rule("read(secrets/**)")], several)


def test_a_deny_does_not_depend_on_letter_case_an_allow_does() -> None:
    assert denies("read(secrets/**)", path("Secrets/a"))
    assert not allows("read(data/**)", path("Data/a"))


@pytest.mark.parametrize(
    "command",
    ["git status", "git  status", "git status -s", "git 'status'", "git status; git status"],
)
def test_an_allowed_command(command: str) -> None:
    assert allows("bash(git status *)", bash(command))


@pytest.mark.parametrize(
    "command",
    [
        "git statusx",
        "git status; rm x",
        "git status && rm x",
        "git status | tee x",
        "git status\nrm x",
        "git status & rm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status > x",
        "git status < x",
        "(git status)",
        "X=1 git status",
        "sudo git status",
        "/tmp/git status",
        "git status 'open",
        "",
    ],
)
def test_an_allowed_beginning_allows_nothing_else(command: str) -> None:
    assert not allows("bash(git status *)", bash(command))


def test_each_part_may_be_allowed_by_another_rule() -> None:
    rules = [parse_rule("bash(git status)"), parse_rule("bash(ls *)")]
    assert permits(rules, bash("git status && ls -l; ls"))
    assert not permits(rules, bash("git status && ls -l; pwd"))
    assert allows("bash(*)", bash("echo $(anything) > x"))
    assert allows("bash(date > stamp)", bash("date > stamp"))
    assert not allows("bash(date *)", bash("date > stamp"))
    assert not allows("bash(find *)", bash("find *"))  # a file may be called -delete
    assert not allows("bash(find *)", bash("find . -exec rm {} ;"))
    assert allows("bash(find *)", bash("find . -name x"))


@pytest.mark.parametrize(
    "command",
    [
        "curl x",
        "curl",
        "  curl   x",
        "ls; curl x",
        "ls | 'curl' x",
        "sudo curl x",
        "env A=1 curl x",
        "/usr/bin/curl x",
        "echo $(curl x)",
        "bash -c 'curl x'",
        "c\\url x",
    ],
)
def test_a_denied_command_is_found_in_every_dress(command: str) -> None:
    assert denies("bash(curl *)", bash(command))


def test_git_s_own_options_hide_no_command_of_it() -> None:
    for command in ("git -C . push", "git --no-pager push x", "git -c a=b push", "git push"):
        assert denies("bash(git push *)", bash(command))
    for command in ("git reset -q --hard x", "git reset HEAD --hard", "git reset --hard"):
        assert denies("bash(git reset --hard *)", bash(command))
    assert not denies("bash(git push *)", bash("git -C push status"))
    assert not denies("bash(git reset --hard *)", bash("git reset HEAD"))
    assert not denies("bash(git push)", bash("git push --force"))


def test_a_rule_for_a_launcher_does_not_allow_what_it_launches() -> None:
    rules = [parse_rule("bash(timeout *)"), parse_rule("bash(ls *)")]
    assert permits(rules, bash("timeout 5 ls -l"))
    assert not permits(rules, bash("timeout 5 rm x"))
    assert allows("bash(timeout 5 make *)", bash("timeout 5 make all"))
    assert allows("bash(*)", bash("timeout 5 rm x"))
    assert not permits([parse_rule("bash(xargs *)")], bash("xargs rm"))


def test_flags_of_a_denied_command_may_stand_in_any_order() -> None:
    for command in ("rm -rf x", "rm -fr x", "rm -r -f x", "rm x -r -f"):
        assert denies("bash(rm -rf *)", bash(command))
    for command in ("rm -r x", "rm x", "rmdir -rf x"):
        assert not denies("bash(rm -rf *)", bash(command))


def test_code_is_matched_as_one_text() -> None:
    code = Subject("run_python", "kernel", ("import os\nos.remove('x')",))
    assert denies("run_python(*os.remove*)", code)
    assert denies("kernel", code) and allows("run_python(*)", code)
    assert not allows("run_python(import os)", code)


def test_a_subject_without_texts_is_never_allowed_by_a_pattern() -> None:
    assert not allows("read(*)", path())


def test_rules_that_name_nothing_are_told() -> None:
    rules = Rules.parse(deny=["bahs(rm *)", "read(x)"], ask=["mcp__a__*", "zzz"], allow=["bash"])
    said = "names no tool and no access class, so it does nothing"
    assert rules.unknown(["bash", "read_file"]) == [
        f"The rule bahs(rm *) {said}; did you mean bash?",
        f"The rule zzz(*) {said}; name one, such as bash or write.",
    ]


WORD = st.text(st.sampled_from("abcgit -.x"), min_size=1, max_size=6)


@given(WORD, st.sampled_from([";", "&&", "||", "|", "\n", "&"]), WORD)
def test_a_compound_is_allowed_only_where_both_parts_are(left: str, join: str, right: str) -> None:
    rule = "bash(git *)"
    both = bool(left.strip()) and bool(right.strip())
    both = both and allows(rule, bash(left)) and allows(rule, bash(right))
    if left.strip() and right.strip():
        assert allows(rule, bash(f"{left}{join}{right}")) == both


@given(WORD, st.sampled_from(["{}; a", "a && {}", "a | {}", "$({})", "sudo {}", "(a; {})"]))
def test_what_is_denied_alone_is_denied_in_company(command: str, company: str) -> None:
    rule = "bash(git *)"
    if denies(rule, bash(command)):
        assert denies(rule, bash(company.format(command)))
