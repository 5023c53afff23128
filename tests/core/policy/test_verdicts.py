"""What is decided of command lines and calls, in each mode.

A row is four marks and a command line, or a call: the verdicts in the modes ask, accept-edits, plan
and yolo; `+` runs, `?` asks, `-` is denied. `\\n`, `\\r` and `\\t` stand for those characters.
"""

from __future__ import annotations

from typing import get_args

import pytest

from shiro_jupyter.core.policy.gate import Gate, Mode
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.policy.subjects import Access, Subject

RULES = Rules.parse(
    deny=[
        *("bash(rm -rf *)", "bash(git push *)", "bash(curl *)", "bash(sudo *)"),
        "bash(twine *)",
        "bash(docker compose up *)",
        *("read(secrets/**)", "write(*.lock)", "run_python(*os.remove*)", "forget"),
    ],
    ask=["bash(pip install *)", "bash(git commit *)", "write(*.ipynb)", "read(*.sqlite)"],
    allow=[
        *("bash(git status *)", "bash(git diff *)", "bash(git log *)", "bash(pytest *)"),
        *("bash(ls *)", "bash(cat *)", "bash(grep *)", "bash(rg *)", "bash(find *)"),
        *("bash(sort *)", "bash(echo *)", "bash(wc *)", "bash(head *)", "bash(base64 *)"),
        *("bash(sed *)", "bash(awk *)", "bash(uniq *)", "bash(printf *)", "bash(test *)"),
        *("bash(git cat-file *)", "bash(git blame *)", "bash(git ls-remote *)", "bash(bat *)"),
        *("bash(ag *)", "bash(ack *)", "bash(split *)", "bash(sqlite3 *)", "bash(mapfile *)"),
        *(
            "bash(git config *)",
            "bash(git clone *)",
            "bash(git grep *)",
            "bash(compgen *)",
            "bash(git branch *)",
        ),
        *("bash(timeout *)", "bash(xargs *)", "bash(make test)", "bash(git commit --amend)"),
        *("bash(ls > listing)", "read(data/**)", "write(docs/**)", "run_python(print*)"),
    ],
)
MARKS = {"allow": "+", "ask": "?", "deny": "-"}

COMMANDS = r"""
# Allowed, and what only begins so.
++-+ git status
++-+ git status -sb
++-+   git   status
++-+ 'git' "status"
++-+ git diff HEAD~1 -- a.py
++-+ pytest
++-+ pytest -q tests/test_a.py::test_b
++-+ ls -la data
++-+ make test
++-+ git status # rm -rf build
++-+ git \\n status
??-+ make test install
??-+ make
??-+ python x.py
??-+ git statusx
??-+ git stash
??-+ GIT status
??-+ ｇit status
??-+ /tmp/git status
??-+ ./git status
??-+ git -c core.fsmonitor=./x status
??-+ git -C elsewhere status
# Ask rules stand before allow rules.
??-+ pip install x
??-+ pip install
??-+ git status && pip install x
??-+ git commit -m 'git push'
??-+ git commit --amend
# Compound commands: each is judged.
++-+ git status; ls
++-+ git status && git diff && ls
++-+ ls || ls data
++-+ cat a.csv | head | wc -l
++-+ ls &
++-+ git status\nls
++-+ ls |& wc -l
??-+ git status; make
??-+ git status;touch x
??-+ git status | tee out
??-+ git status & touch x
??-+ git status\ntouch x
??-+ git status || touch x
??-+ pytest &&touch x
??-+ ls |& touch x
---- git status; rm -rf build
---- git status && git push
---- ls | curl -T - http://x
---- ls\nrm -rf build
---- ls & curl x
---- sleep 1 && git push &
---- true || sudo ls
---- (git push)
---- { git push; }
---- ! git push
---- if true; then git push; fi
---- if git push; then ls; fi
---- for f in a b; do rm -rf $f; done
---- while read x; do curl "$x"; done < list
---- until curl x; do sleep 1; done
---- case a in a) git push;; esac
---- f() { git push; }; f
---- time git push
---- coproc git push
---- [[ -f x ]] && rm -rf x
??-+ (git status)
??-+ { git status; }
??-+ if test -f x; then ls; fi
??-+ for f in *.csv; do cat $f; done
??-+ f() { ls; }; f
??-+ ((x = 1 + 1))
# Denied in every dress.
---- rm -rf build
---- rm -r -f build
---- rm build -fr
---- rm -rf -- build
---- rm -Rf build
---- rm --recursive --force build
---- rm --rec -f build
---- rm -rvf build
---- git push
---- git -C . push
---- git --no-pager push
---- git -c a=b push origin
---- git --git-dir x push
---- git \\n push
---- gi\\nt push
---- /usr/bin/git push
---- ./bin/curl x
---- 'cu'rl x
---- c\url x
---- $'curl' x
---- $'\x63url' x
---- {git,push}
---- GIT push
---- /usr/bin/Git.exe push
---- CURL.EXE x
---- python3.11 -m twine upload x
---- docker compose up
---- docker-compose up
??-? ssh host docker-compose up
---- git send-pack origin
---- git -C x send-pack origin
---- /usr/lib/git-core/git-push origin
---- git-push
---- git http-push x
---- git subtree push origin x
---- git -c alias.p=push p
---- git -c alias.p='push origin' p
---- git config alias.p push; git p
---- git config alias.p '!curl x'
??-+ git config alias.st status
++-+ git config --get alias.p
??-? shopt -s extglob\ngit @(push) origin
??-? bash -O extglob -c 'git @(push) origin'
??-+ pip3 install x
??-+ pip3.12 install x
??-+ python3.11 -m pip install x
---- rm${IFS}-rf${IFS}build
---- sudo ls
---- python -m twine upload x
---- python3.12 -Im twine upload x
---- python -mtwine upload x
??-? python x.py -m twine
??-+ uv pip install x
---- sudo -u root git status
??-+ rm -r build
??-+ rm build
??-+ git -C push status
++-+ echo 'rm -rf build'
++-+ echo git push
++-+ grep -r 'git push' docs
# Substitutions.
??-+ echo $(git status)
??-+ echo `ls`
??-+ ls $(cat list)
??-+ echo "$(touch x)"
??-+ echo ${x:-$(touch x)}
??-+ echo $HOME
??-+ cat <(ls) <(ls data)
---- echo $(git push)
---- echo "`git push`"
---- echo "a $(echo $(curl x)) b"
---- cat <(curl x)
---- ls > >(curl x)
---- echo ${x:-$(rm -rf build)}
---- x=$(curl x)
---- echo $((1 + $(curl x)))
---- echo "${a[$(curl x)]}"
++-+ echo '$(touch x)'
++-+ echo '`git push`'
++-+ echo \$\(touch x\)
# Redirects write, or read what no rule names.
??-+ git status > out
??-+ git status >> out
??-+ ls 2>&1
??-+ ls 2> /dev/null
??-+ cat < data/a.csv
??-+ cat <> x
??-+ git diff >| x
??-+ ls &> out
??-+ > out
??-+ echo x > .git/hooks/pre-commit
??-+ git log {fd}> out
++-+ ls > listing
??-+ ls > listing; ls
++-+ echo '>' out
++-+ grep '<b>' x.html
---- git status > $(curl x)
---- echo x > /dev/sda
# Here-documents.
??-+ cat <<EOF\ntouch x\nEOF
??-+ cat <<'EOF'\n$(git push)\nEOF
??-+ python - <<'EOF'\nprint(1)\nEOF
---- cat <<EOF\n$(git push)\nEOF
---- cat <<EOF\n`git push`\nEOF
---- bash <<EOF\ngit push\nEOF
---- bash <<< 'git push'
---- sh -s <<'EOF'\ncurl x\nEOF
---- cat > x <<'EOF'\nit's\nEOF\ngit push
---- cat <<-EOF\n\tx\n\tEOF\ngit push
??-? cat <<EOF\nx
# What is set for a command may make another one of it.
??-+ A=1 git status
??-+ LD_PRELOAD=./x.so git status
??-+ GIT_PAGER=./x git diff
??-+ PATH=.:$PATH ls
??-+ A=1
??-+ export A=1
??-+ env git status
??-+ env -i A=1 ls
??-+ a=(1 2)
---- A=1 git push
---- A=1 B='x y' curl x
---- A[0]=1 git push
---- env git push
---- env -u A B=1 git push
---- env -S 'git push'
---- env --chdir=/ git push
# Wrappers: what they start is judged, and so are they.
++-+ timeout 5 git status
++-+ timeout -s KILL 5 ls -l
++-+ ls | xargs cat
++-+ ls | xargs -n 1 timeout 5 wc -l
??-+ timeout 5 make
??-? ls | xargs rm
??-+ nice git status
??-+ nohup pytest
??-+ command ls
??-+ bash -c 'git status'
??-+ sh -c "ls"
??-+ eval ls
??-+ bash x.sh
??-+ . ./x.sh
??-+ ssh host ls
??-+ docker run -v /:/x image ls
---- timeout 5 git push
---- timeout 5 env A=1 nice -n 3 git push
---- nohup git push &
---- bash -c 'git push'
---- bash -lc "cd x && git push"
---- sh -ec 'ls; curl x'
---- bash -c "bash -c 'curl x'"
---- eval "git push"
---- ls | xargs git push
---- ls | xargs -n1 rm -rf
---- ls | xargs -I{} sh -c 'curl {}'
---- find . -name x -exec rm -rf {} +
---- find . -exec sh -c 'curl x' \;
---- command git push
---- exec git push
---- builtin command git push
---- doas curl x
---- watch -n1 curl x
---- parallel curl ::: x
---- uv run curl x
---- conda run -n x git push
---- setsid -f git push
---- stdbuf -oL curl x
---- flock x curl x
---- busybox rm -rf build
---- strace -f -o out curl x
---- chroot /x git push
---- unshare -r git push
---- nsenter -t 1 curl x
---- systemd-run --user curl x
---- runuser -u me -- curl x
---- pkexec curl x
---- unbuffer curl x
---- valgrind --tool=none curl x
---- proxychains curl x
---- numactl -N 0 curl x
---- git submodule foreach 'git push'
---- git bisect run curl x
---- git rebase -x 'git push' main
---- git -c alias.x='!git push' x
---- git filter-branch --tree-filter 'curl x' HEAD
---- fd -x curl x
---- trap 'git push' EXIT
---- script -c 'curl x' out
---- su -c 'curl x'
# Where lines are joined, and what escapes come to be.
---- cat <<EOF\n\\nEOF\ngit push\nEOF
---- cat <<EOF\nE\\nOF\ngit push\nEOF
??-+ cat <<EOF\na \\nb\nEOF
??-+ cat <<'EOF'\na \\nEOF
---- cat <<'EOF'\na \\nEOF\ngit push
---- cat <<EOF\n$\\n(git push)\nEOF
---- echo "$\\n(git push)"
---- echo "${x:-$\\n(git push)}"
---- cat <\\n<EOF\nx\nEOF\ngit push
---- $'\U63url' x
---- $'\U00000063url' x
??-? $'git\0x' push
??-? $'\x{63}url' x
??-? $'\U' x
++-+ git status && \\n git diff
# What git is told to run in other ways.
---- git for-each-repo --config=a.b push
---- git for-each-repo --keep-going --config a.b push origin
---- git --shallow-file x push
---- git --attr-source HEAD push
---- git --unheard-of x push
---- git --unheard-of push
??-? GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0=push git z
??-? export GIT_CONFIG_PARAMETERS="'alias.z=push'"; git z
??-? git --config-env=alias.z=X z
??-? git -c include.path=x z
---- git rebase -x'git -C . push' HEAD
---- git rebase -ix 'git -C . push' HEAD
---- git submodule foreach --recursive 'git push'
---- git submodule --quiet foreach git push
---- nice --adj 5 git -C . push
---- env -S 'git -C .' push
---- env -S 'git\_push'
---- env -S 'g\it push'
??-? env -S '${X} push'
??-+ env -S 'git status'
??-+ git --no-pager status
# A command that may be any asks, since it may be one that is denied.
??-? $x status
??-? c=curl; $c x
??-? "$(which git)" push
??-? ec?o x
??-? eval "$x"
??-? echo 'curl x' | sh
??-? printf x | bash -s
??-? bash
??-? source <(echo x)
??-? echo 'open
??-? echo "open
??-? git status\r\nls
??-? shopt -s expand_aliases\nalias q=ls\nq
??-? x='$(curl x)'; : "${x@P}"
??-? test -v 'a[$(curl x)]'
??-? printf -v 'a[$(curl x)]' 1
??-? [[ 'a[$(curl x)]' -eq 1 ]]
# And so does one whose words may be what is denied.
??-? x=push; git $x origin HEAD
??-? git $(echo push) origin
??-? git "$(echo push)"
??-? git `echo push`
??-? git p*
??-? git pus?
??-? git {$x,a}
??-? git {push*,a}
??-? git pu$x'sh'
??-? git -C x $y
??-? git $x push origin
??-? git "$@"
??-? for x in push; do git $x; done
??-? f() { git "$@"; }; f push
??-? read x <<< push; git $x
??-? /usr/bin/git $x
??-? timeout 5 git $x
??-? f=-rf; rm $f build
??-? rm "$@"
??-? rm -r$x build
??-? rm -r* build
??-? rm -r $x
??-? rm *
??-? git ${x:-push}
---- git {,} push
---- {git,} push
---- git {push,}
---- git $'pu\x73h'
??-? git ? push
??-? pip $x; git $y
??-+ git log $x
??-+ git status $x
??-+ git commit -m "$message"
??-+ git add *.py
??-+ git -C "$folder" status
??-+ rm *.pyc
??-+ rm build/*
??-+ rm -r build/$x
??-+ rm -- '*'
??-+ rm -r -- "$folder"
??-+ rm '$x'
??-+ echo "$x" $(ls) *
??-+ for f in *.csv; do wc -l "$f" > out; done
# An ask rule too is about what a command may become.
??-+ pip inst*
# So does one that names what is denied, or is fed its arguments: it may be a launcher.
??-? ssh host 'git push'
??-? docker run image curl x
??-? python -c "import os; os.system('curl x')"
??-? make CURL='curl x'
??-? GIT_SSH_COMMAND='curl x' git fetch
??-? apt install curl
??-? echo -rf build | xargs rm
??-? echo push | xargs git
??-? echo curl x | xargs timeout 5
??-? echo curl x | xargs env
??-? parallel < list
---- git -c core.sshCommand='curl x' fetch
??-? python3 - <<'EOF'\nimport os\nos.system('git push')\nEOF
??-? python3 <<< 'import subprocess as s; s.run(["git", "push"])'
??-? python3 -c "subprocess.run(['git', 'push'])"
??-? perl <<'EOF'\nsystem('curl', 'x')\nEOF
??-? ed -s <<< '!git push'
??-? printf '!git push' | ed -s
??-? tclsh <<< 'exec curl x'
??-? make -f - <<'EOF'\nx:\n\tgit push\nEOF
??-? git -c protocol.ext.allow=always ls-remote 'ext::curl x'
??-? git grep --no-index -O'curl x;' a
??-? git clone -u 'curl x;' . y
---- git difftool -y -x 'curl x' a b
??-? echo 'git push' > q.sh; sh q.sh
??-? echo 'git push' > d/q.sh && chmod +x d/q.sh && ./d/q.sh
??-? tee q.sh <<< 'git push'; sh q.sh
??-? cat > q.sh <<'EOF'\ngit push\nEOF\n. ./q.sh
??-? hash -p /usr/bin/curl foo; foo x
??-? xargs -a list -I@ bash -c '@'
??-? xargs -a list -I @ sh -c '@ x'
??-? xargs sh -c 'git $0' < list
??-? sh -s push <<< 'git "$1"'
??-? . /dev/fd/0 < x.sh
---- bash /dev/fd/3 3<<< 'git push'
---- bash /proc/self/fd/3 3<<< 'curl x'
# A launcher that nobody knows, and code that holds the command in another form.
---- choom -n 0 -- git -C . push
---- chronic git -C . push
??-? perf stat -e x git -C . push
??-? bwrap --dev-bind / / git -C . send-pack
??-? ld.so /usr/bin/git -C . push
??-? perf stat git $x
??-? tmux new -d 'git -C . push'
??-? ssh h 'cd x && git -C . send-pack'
??-? ssh h rm -r -f x
??-? perl -e 'system("git -C . push")'
??-? perl -e 'system("rm", "-r", "--force", "x")'
??-? python -c 'run(["git", "-C", ".", "push"])'
??-? python - <<'EOF'\nrun(["git",\n"push"])\nEOF
---- sg root 'git -C . push'
---- script -qc'git -C . push'
---- su -c'git -C . push'
---- mksh -c 'git push'
---- pwsh -Command 'git push'
---- nu --commands='git push'
??-? echo 'git push' > x.sh; bash x.s?
??-? echo 'git push' > x.sh; bash "$f"
??-+ perf stat git -C . pull
??-+ perl -e 'print "push, then git"'
??-+ docker rm -f x
??-+ timeout 60 git commit -m 'fix the push'
??-+ bash -c 'git -C . status; echo push'
??-+ git -C . commit -m 'git, then push'
??-+ echo 'git push' > x.md; cat *.txt
??-+ python x.py --origin git
??-+ git add curl
??-+ sed -i 's/git push/git fetch/' README.md
??-? sed -i 's/x/git push/e' README.md
++-+ git log --grep 'git push'
??-+ git commit -F - <<'EOF'\nnever git push\nEOF
??-+ cat > notes.md <<'EOF'\nthen git push\nEOF
??-+ tee notes.md <<< 'git push'
??-+ echo 'git push' >> notes.md; ls
??-+ grep curl x.sh | wc -l > out
??-+ grep -c curl a b 2> /dev/null | sort | head; cat /dev/null
??-+ python3 - <<'EOF'\nprint('pushed', 'git')\nEOF
??-+ ls | xargs -I{} sh -c 'wc -l {}'
??-? find . -name curl -delete
??-+ rm curl
++-+ find . -name curl
??-? awk 'BEGIN{system("curl x")}'
# Commands that look, until an option has them do more.
++-+ find . -name '*.py' -newer x
++-+ find data -type f -size +1M
??-+ find . -delete
??-+ find . -name x -exec ls {} +
??-+ find . -fprint out
??-+ find . -fls out
??-+ find . -ok ls {} \;
??-+ timeout 5 find . -delete
??-+ echo -delete | xargs find .
++-+ rg -n x src
??-+ rg --pre ./x y
??-+ rg --pre=./x y
??-+ rg --hostname-bin ./x y
++-+ base64 -d x
??-+ base64 -o out x
??-+ base64 --output=out x
??-+ base64 -doout x
++-+ sort -k2 -t, x
??-+ sort -o x x
??-+ sort -uo x x
??-+ sort --outp x x
??-+ sort --compress-program=./x x
++-+ uniq -c x
??-+ uniq x out
??-+ uniq - out
++-+ ls *
++-+ rg x ./*.py
++-+ find . -name '*.py'
??-+ rg x *
??-+ sort *.csv
??-+ find *
??-+ sort ?o x
++-+ git log '*.py'
# A glob may come to be an option, where a file is so named.
??-+ find . -d*
??-+ find . -de?ete
??-+ find . "-d"*
??-+ sort -*
??-+ git diff --*
??-+ rg --*
??-+ sed -*
++-+ ls data/*.csv
++-+ sort x/*.csv
++-+ sort ./-*
??-+ timeout 5 sort *
++-+ git diff --stat
++-+ git log --oneline -5
??-+ git diff --output=x
??-+ git log --output x
??-+ git diff --ext-diff
++-+ git cat-file -p HEAD:a
??-+ git cat-file --filters HEAD:a
++-+ git blame -L 1,5 a
??-+ git blame --contents /etc/hosts a
??-+ git blame --conten=x a
++-+ git branch --contains x
++-+ git ls-remote origin
??-+ git ls-remote -u 'touch x;' .
??-+ git ls-remote 'ext::touch x'
??-+ git config alias.x '!touch y'
++-+ git config --get alias.x
++-+ bat -p x
??-+ bat --pager sh x
??-+ ag --pager=sh x
??-+ ack --pager sh x
??-+ ack --ackrc=x y
++-+ split -l 5 x
??-+ split --filter=sh x
??-+ split --fil sh x
++-+ sqlite3 a.db 'select 1'
??-+ sqlite3 a.db '.shell touch x'
??-+ sqlite3 a.db 'select 1;\n.system touch x'
??-+ sqlite3 a.db "select writefile('x', 1)"
??-+ sqlite3 a.db -init x
++-+ mapfile -t a
??-+ mapfile -C 'touch x' -c 1
??-+ mapfile -tC 'touch x' -c 1
??-+ compgen -C 'touch x'
??-+ compgen -W '$(touch x)'
++-+ sed -n 1,20p x
++-+ sed -n '/a/,/b/p' x
++-+ sed 's/a/b/g; 2d' x
++-+ sed -e 's|/a|/b|' -e 5q x
??-+ sed -i s/a/b/ x
??-+ sed -ni.bak p x
??-+ sed --in-place p x
??-+ sed -n '1w out' x
??-+ sed -n '1e touch x' x
??-+ sed 's/a/touch x/e' x
??-+ sed 's/a/b/w out' x
??-+ sed -e p -e 'w out' x
??-+ sed -l 5 'w out' x
??-+ sed --line-length 5 'w out' x
??-+ sed -n --expression='w out' x
??-+ sed -ne'w out' x
??-+ sed p -i x
??-+ sed -f script x
++-+ awk '{print $1}' x
++-+ awk -F, '$3 == 1 || $4 {print $2}' x
++-+ awk -F '|' -v n=1 '{print $n}' x
??-+ awk '{print > "out"}' x
??-+ awk 'BEGIN{system("touch x")}'
??-+ awk '{print | "sh"}' x
??-+ awk -f script x
??-+ awk 'BEGIN{"touch x" | getline}'
??-+ awk -i inplace 1 x
??-+ awk -v x=1 'BEGIN{system("touch x")}'
??-+ printf -v PATH /tmp
# Short options in a cluster, long ones cut short, and words that hold a blank.
++-+ sed -nl 5 p x
++-+ sed -nE 's/a/b/' x
++-+ git diff --text
++-+ git log -c
++-+ git grep -n x
++-+ awk -F: -ve=1 '{print $e}' x
??-+ sed -nl 5 '1e touch x' f
??-+ sed -El 5 'w x' f
??-+ sed -nle5 'w x' f
??-+ sed --i p x
??-+ sed -- 'w x' -e p
??-+ awk -ve=1 'BEGIN{system("touch x")}'
??-+ awk -Fep 'BEGIN{system("touch x")}'
??-+ git grep --ope='touch x' y
??-+ git grep -nO'touch x' y
??-+ git ls-remote --exe='touch x' .
??-+ git ls-remote --upl='touch x' .
??-+ git ls-remote -qu 'touch x' .
??-+ git cat-file --te HEAD:f
??-+ git blame --con=/etc/passwd f
??-+ git clone --config=core.sshCommand='touch x' ssh://a/b z
??-+ sqlite3 --init x a.db
??-? test -v 'a[b[0]+$(touch x)]'
??-? test -v 'a["]"+$(touch x)]'
??-? read 'a[b[0]+`touch x`]'
++-+ grep 'a[0] `x`' y
??-+ 'pytest /evil'
??-+ 'pytest ' x
??-+ git 'status x'
++-+ grep 'a b' 'c d'
# Plain destruction is denied, though no rule names it.
---- rm -r /
---- chmod -R 777 /
---- :(){ :|:& };:
---- dd if=/dev/zero of=/dev/sda
---- find / -delete
---- mkfs.ext4 /dev/sda1
---- pushd / && rm -rf *
---- cd / ; cd ..; rm -r *
---- cd /home/x && cd .. && rm -r x
---- cd / && cd - && cd - && rm -r *
---- X=~; rm -r $X
---- X=/; rm -r "${X}"
---- for d in ~ x; do rm -r $d; done
??-? X=build; rm -r $X
??-+ cd build && cd .. && rm -r x
??-+ cd / && cd - && rm -r x
---- timeout 5 rm -r ~
"""

CALLS = r"""
# Reading never asks, save where a name says that keys are in it.
++++ read_file read src/x.py
++++ read_file read a.ipynb
++++ grep read .
++++ read_many_files read a.py b.py
???+ read_file read .env
???+ read_file read conf/prod.env
???+ read_file read .ssh/id_rsa
???+ read_many_files read a.py .env
++++ read_file read data/.env
???+ read_file read a.sqlite
???+ read_file read data/a.sqlite
---- read_file read secrets/a
---- read_file read Secrets/deep/A
---- read_many_files read data/a secrets/b
---- git_show read secrets/a
++++ read_file read src/secrets/a
# Files are changed by leave, in accept-edits those of the project.
?+-+ write_file write a.py
?+-+ edit_file write src/deep/a.py
++-+ write_file write docs/a.md
?+-+ write_file write docs2/a.md
?+-+ write_file write Docs/a.md
?+-+ rename write docs/a.md a.md
??-+ write_file write .env
??-+ write_file write a.ipynb
??-+ write_file write docs/a.ipynb
??-+ write_file write .git/hooks/pre-commit
??-+ write_file write .shiro/config.toml
??-+ multi_edit write .vscode/tasks.json
??-+ write_file write /elsewhere/a
??-+ write_file write C:/elsewhere/a
---- write_file write uv.lock
---- edit_file write deep/Poetry.lock
---- write_file write docs/x.lock
---- multi_edit write a.py uv.lock
# Code in the kernel is its own class, and no command of a shell.
??-+ run_python kernel x=1
++-+ run_python kernel print(1)
??-+ run_python kernel !git_push
---- run_python kernel print(os.remove('x'))
# Our own state.
++++ todo_write session
++++ session_notes session note
++++ recall session x
++++ ask session x
++-+ remember memory use_uv
---- forget memory use_uv
"""


def rows(table: str) -> list[tuple[str, str]]:
    lines = [line for line in table.splitlines() if line and not line.startswith("# ")]
    return [(line[:4], _plain(line[5:])) for line in lines]


def _plain(text: str) -> str:
    for letter, char in (("n", "\n"), ("r", "\r"), ("t", "\t")):
        text = text.replace(f"\\{letter}", char)
    return text


def marks(subject: Subject, rules: Rules = RULES) -> str:
    modes: tuple[Mode, ...] = get_args(Mode)
    return "".join(MARKS[Gate(mode, rules).decide(subject, set()).verdict] for mode in modes)


def call(row: str) -> Subject:
    tool, access, *texts = row.split(" ")
    assert access in get_args(Access)
    return Subject(tool, access, tuple(texts))  # type: ignore[arg-type]


@pytest.mark.parametrize(("expected", "command"), rows(COMMANDS))
def test_command_lines(expected: str, command: str) -> None:
    assert marks(Subject("bash", "shell", (command,))) == expected


@pytest.mark.parametrize(("expected", "row"), rows(CALLS))
def test_calls(expected: str, row: str) -> None:
    assert marks(call(row)) == expected
