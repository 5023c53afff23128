"""Prompts that IPython or a parser of arguments would mangle."""

from __future__ import annotations

PROMPTS = [
    "what is df?",
    "what is df??",
    'who\'s "there" and `where`',
    "an open ' quote",
    'three """ of them',
    "braces {x} {{y}} {1/0}",
    "dollars $df $$ ${HOME}",
    "what does -c do",
    "and --plan, or -- both?",
    "!ls is a command",
    "is 5 % 2 one? %time or %%bash",
    r"a path C:\data\new and a \n",
    "ends in a backslash \\",
    "open ( [ { brackets",
    "a # comment? and ; semicolons;",
    "x = %shiro nested",
    "Größe naïve 你好 🙂 \u2028 \x0c end",
    "R & D & more",
    "AT&T&",
    "@path @variable @cell:3",
    "=====",
    "",
]
