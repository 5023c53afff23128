"""Names and magics that are known to bind nothing, and those that may bind anything."""

from __future__ import annotations

import builtins
import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# At the start of a fresh kernel; the last ones are what kernels of Spark come with.
NAMES = frozenset(dir(builtins)) | _words(
    "In Out display get_ipython exit quit open copyright credits license help "
    "spark sc sqlContext dbutils"
)
OWN = re.compile(r"_+|_+i*\d*|_[iod]h|__\w+__|_exit_code")  # IPython's, and those of modules

# Cell magics whose body is Python that binds its names in the notebook.
BODIES = ("time", "capture", "prun")
# What IPython takes for a magic without its `%`, where it is the only line of a cell.
BARE = _words(
    "cat cd clear conda cp env hist history less ll ls lsmagic lx mamba man matplotlib mkdir more "
    "mv pdb pip precision pwd rm rmdir uv who whos xmode edit load macro pylab recall reload_ext "
    "load_ext rerun reset run store time timeit alias alias_magic autoawait autocall automagic "
    "autoreload bookmark colors config connect_info debug dhist dirs doctest_mode gui ldir lf lk "
    "logoff logon logstart logstate logstop magic notebook page pastebin pdef pdoc pfile pinfo "
    "pinfo2 popd pprint prun psearch psource pushd pycat qtconsole quickref rehashx "
    "reset_selective sc set_env sx system tb unalias unload_ext who_ls xdel"
)
# Magics that bind no name, unless told to by `=`, which Python sees.
HARMLESS = _words(
    "! HTML SVG alias alias_magic autoawait autocall automagic autoreload autosave bash bookmark "
    "capture cat cd clear cmd colors conda config connect_info cp debug dhist dirs doctest_mode "
    "env file forget gui hist history html javascript js latex ldir less lf lk ll load_ext logoff "
    "logon logstart logstate logstop ls lsmagic lx magic mamba man markdown matplotlib mkdir more "
    "mv notebook page pdb pdef pdoc perl pfile pinfo pinfo2 pip popd pprint precision prun "
    "psearch psource pushd pwd python python2 python3 quickref pycat recall rehashx reload_ext "
    "remember rm rmdir ruby save script set_env sh shiro store svg sx system tb time timeit todos "
    "unalias unload_ext uv who who_ls whos writefile xmode"
)
EXTENSIONS = _words("autoreload shiro_jupyter tensorboard line_profiler memory_profiler")

# What reaches the notebook's names by other ways than binding them.
HIDING_NAMES = _words(
    "exec eval globals locals vars builtins __builtins__ __main__ compile init_session"
)
HIDING_ATTRIBUTES = _words(
    "user_ns user_global_ns user_module f_globals f_locals __globals__ __dict__ push run_cell ex "
    "safe_execfile run_code magic modules _getframe currentframe run_path set_trace embed "
    "run_line_magic run_cell_magic load_session load_module init_session install _convert_"
)

# Context managers that let errors pass.
PLAIN_MANAGERS = _words(
    "open errstate catch_warnings option_context rc_context no_grad ZipFile TemporaryDirectory "
    "NamedTemporaryFile localcontext ThreadPoolExecutor Pool File"
)
EXITS = _words("exit quit _exit abort")
