"""Bad trees and what each check has to say about them; a clean tree for all. Used by selftest.py only."""
import glob

HEAD = '/* A sample. Used by the self-test. */\n'
MAP = '{\nglobal:\n\tpodprof_api;\nlocal:\n\t*;\n};\n'
GUEST = 'set(PODPROF_SOURCES\n  a.c)\n'
SHELL = '#!/bin/sh\nset -eu\n'


def c(body, head=HEAD):
    return head + body


LONG_FUNCTION = c('int long_one(int a)\n{\n' + '\ta++;\n' * 60 + '\treturn a;\n}\n')
# A word that check-words refuses, so that this file does not hold it.
UNFINISHED = '/* TO' + 'DO: more */\n'
HOME = 'static const char *const place = "/ho' + 'me/somebody/x";\n'
RECURSION = 'int down(int n);\n\nint down(int n)\n{\n\treturn n ? down(n - 1) : 0;\n}\n'
FREED_USED = '#include <stdlib.h>\n\nint f(int *p);\n\nint f(int *p)\n{\n\tfree(p);\n\treturn *p;\n}\n'
OUT_OF_BOUNDS = 'int g(void);\n\nint g(void)\n{\n\tint a[4] = {0};\n\n\treturn a[4];\n}\n'
LOSSES = '/* PP_LOSS(symbol, name, what): causes. */\n'
RECORDS = '/* PP_RECORD(symbol, value, what): kinds. */\n'
COLUMN_ROWS = '/* PP_TABLE(name) PP_COLUMN(name, type) PP_TABLE_END(): rows. */\n'
MPI_ROWS = '/* PP_MPI(symbol, class): calls. */\n'

DECLARED = '/* Nothing. */\nint pp_%s(void);\n'


def unit(path, value):
    """X.c and X.h with one function, pp_X."""
    name = path.split('/')[-1]
    return {path + '.h': c(DECLARED % name),
            path + '.c': c('#include "%s.h"\n\nint pp_%s(void)\n{\n\treturn %s;\n}\n' % (path, name, value))}


# check: [(files, what must be printed, ...)]; a name with '!' at its end is executable.
BAD = {
    'format': [
        ({'core/a.c': c('int  a;\n')}, 'core/a.c:2: not formatted'),
        ({'core/a.c': c('int a; \n')}, 'core/a.c:2: trailing space'),
        ({'core/a.c': c('int a;')}, 'core/a.c:2: no newline at the end'),
        ({'core/a.c': c('/* %s */\nint a;\n' % ('x' * 130))}, 'core/a.c:2: more than 132 columns'),
        ({'report/a.js': 'const  a = 1;\n'}, 'report/a.js:1: not formatted'),
        ({'report/a.js': "const a =\n    '%s';\n" % ('x' * 130)}, 'report/a.js:2: more than 132 columns'),
        ({'docs/a.md': 'a\n\tb\n'}, 'docs/a.md:2: indented with a tab'),
        ({'scripts/a!': 'set -eu\n'}, 'scripts/a:1: has an exec bit but no #! line'),
        ({'scripts/a': SHELL}, 'scripts/a:1: has a #! line but no exec bit'),
        ({'scripts/a.sh!': SHELL + '        echo a\n'}, 'scripts/a.sh:3: indented with spaces'),
        ({'scripts/a.py!': '#!/usr/bin/env python3\n'}, "scripts/a.py:1: runs by '/usr/bin/env python3'"),
    ],
    'layers': [
        ({'core/a.c': c('#include <mpi.h>\n')}, 'core/a.c:2: mpi.h stands outside mpi/'),
        ({'launchers/a.c': c('#include <hdf5.h>\n')}, 'launchers/a.c:2: hdf5.h stands outside aggregate/'),
        ({'core/a.c': c('#include "aggregate/x.h"\n')}, 'core/a.c:2: core/ may not include "aggregate/x.h"'),
        ({'aggregate/a.c': c('static nvtxRangeId_t id;\n')}, "aggregate/a.c:2: type 'nvtxRangeId_t' outside core/source/"),
        ({'core/a.c': c('#include <stdio.h>\n#include <errno.h>\n')}, "core/a.c:3: 'errno.h' after 'stdio.h'"),
        ({'core/a.c': c('#include <stdio.h>\n#include "core/a.h"\n'), 'core/a.h': HEAD}, "core/a.c:2: 'core/a.h' is not the first include"),
        ({'core/a.c': c('#include "core/step/x.h"\n'), 'core/step/x.h': HEAD, 'core/CMakeLists.txt': GUEST},
         'core/a.c:2: "core/step/x.h" in the guest'),
        ({'core/a.c': c('#include <zlib.h>\n'), 'core/CMakeLists.txt': GUEST}, 'core/a.c:2: <zlib.h> in the guest'),
        ({'aggregate/dataset/a.c': c('#include "aggregate/analyze/x.h"\n'), 'aggregate/analyze/x.h': HEAD},
         'aggregate/dataset/a.c:2: aggregate/dataset/ may not include "aggregate/analyze/x.h" of aggregate/analyze/, above it'),
        ({'launchers/run/a.c': c('#include "launchers/ask/x.h"\n'), 'launchers/ask/x.h': HEAD},
         'launchers/run/a.c:2: launchers/run/ may not include "launchers/ask/x.h" of launchers/ask/, above it'),
        ({'core/a.h': c('#include "core/b.h"\n'), 'core/b.h': HEAD, 'core/b.c': c('#include "core/b.h"\n#include "core/d.h"\n'),
          'core/d.h': c('#include "core/a.h"\n')}, 'core/d.h:2: includes go in a circle: core/d > core/a > core/b > core/d'),
        ({'core/a.h': c('#include "core/b.h"\n'), 'core/b.h': HEAD, 'scripts/layers.excused': 'core/a.h core/b.h\n'},
         'scripts/layers.excused:1: no such include points up or closes a cycle any more: core/a.h core/b.h'),
        ({'core/ring/a.c': c('#include "core/window/x.h"\n'), 'core/window/x.h': HEAD},
         'core/ring/a.c:2: core/ring/ may not include "core/window/x.h" of core/window/, above it'),
        ({'core/new/a.c': HEAD}, "core/new/a.c:1: room 'core/new/' has no floor of its own"),
        ({'core/a.c': c('#include "mpi/x.def"\n'), 'mpi/x.def': HEAD}, 'core/a.c:2: core/ may not include "mpi/x.def" of mpi/, above it'),
        ({'aggregate/dataset/a.def': c('#include "aggregate/read/x.def"\n'), 'aggregate/read/x.def': HEAD},
         'aggregate/dataset/a.def:2: aggregate/dataset/ may not include "aggregate/read/x.def" of aggregate/read/, above it'),
        ({'aggregate/write/chrome/a.c': c('#include "aggregate/report/x.h"\n'), 'aggregate/report/x.h': HEAD},
         'aggregate/write/chrome/a.c:2: aggregate/write/ may not include "aggregate/report/x.h" of aggregate/report/, above it'),
    ],
    'units': [
        ({**unit('core/a', 'pp_b()'), **unit('core/b', 'pp_a()')}, "core/b.c:6: calls go in a circle of 2 units: core/b > core/a by 'pp_a'"),
        ({**unit('core/a', 'pp_b == 0'), **unit('core/b', 'pp_a()')},
         "core/a.c:6: calls go in a circle of 2 units: core/a > core/b by 'pp_b'"),
        ({**unit('core/a', 'pp_b()'), **unit('core/b', '0'), 'core/b.h': c(DECLARED % 'b' + '#define B pp_a()\n')},
         "core/b.h:4: calls go in a circle of 2 units: core/b > core/a by 'pp_a'"),
        ({**unit('core/a', 'pp_rule_b()'), **unit('core/rule_b', '0'), 'core/rows.def': HEAD + 'PP_ROW(b)\n',
          'core/rule_b.c': c('int pp_rule_b(void)\n{\n\treturn pp_list();\n}\n'), **unit('core/list', '0'),
          'core/list.c': c('#define PP_ROW(name) pp_rule_##name,\nint (*rows[])(void) = {\n#include "core/rows.def"\n};\n\nint pp_list(void)\n{\n\treturn 0;\n}\n')},
         "core/rule_b.c:4: calls go in a circle of 2 units: core/rule_b > core/list by 'pp_list'"),
        ({**unit('core/ring/a', 'pp_b()'), **unit('core/window/b', '0')}, "core/ring/a.c:6: 'pp_b' is of core/window/, above core/ring/"),
        ({**unit('core/a', '0'), 'core/b.h': c(DECLARED % 'a')}, "core/b.h:3: 'pp_a' of core/a is declared here"),
        ({'launchers/cmd.h': c(DECLARED % 'a'), 'launchers/a.c': c('int pp_a(void)\n{\n\treturn 0;\n}\n'), 'launchers/options/verbs.c': HEAD},
         "launchers/cmd.h:3: 'pp_a' of launchers/a is declared here"),
        ({'launchers/a.c': c('#include "aggregate/write/h5/hdf5_file.h"\n'), 'aggregate/write/h5/hdf5_file.h': c(DECLARED % 'b'),
          'aggregate/write/h5/b.c': c('int pp_b(void)\n{\n\treturn 0;\n}\n')},
         "launchers/a.c:1: includes 'aggregate/write/h5/hdf5_file.h', which is private"),
        ({'aggregate/write/h5/hdf5_file.h': c(''.join(DECLARED % n for n in 'bcdefgh')),
          **{'aggregate/write/h5/%s.c' % n: c('int pp_%s(void)\n{\n\treturn 0;\n}\n' % n) for n in 'bcdefgh'}},
         'aggregate/write/h5/hdf5_file.h:1: declares for 7 units'),
        ({'core/a.h': c('#pragma once\nint pp_a(void);\n')}, "core/a.h:3: 'pp_a' has no contract"),
        ({'core/a.h': c('/* All. */\n' + ''.join('int pp_%s(void);\n' % n for n in 'abcde'))}, "core/a.h:7: 'pp_e' has no contract"),
        ({'core/a.h': c('/* One. */\nint pp_a(void);\n\nint pp_b(void);\n')}, "core/a.h:5: 'pp_b' has no contract"),
        ({'core/a.c': HEAD, 'scripts/units.excused': 'circle core/\n'}, 'scripts/units.excused:1: nothing is excused by this line any more: circle core/'),
    ],
    'tests': [
        ({'core/a.c': HEAD}, 'core/a.c:1: no test covers it'),
        ({'core/a.c': HEAD, 'tests/unit/core/a.c': 'TEST(one)\n'}, 'tests/unit/core/a.c:1: a test that is not called X_test.c'),
        ({'core/a.c': HEAD, 'tests/unit/core/b_test.c': HEAD}, "tests/unit/core/b_test.c:1: there is no 'core/b.c' that it tests"),
        ({'core/a.c': HEAD, 'tests/unit/covered_by.txt': 'core/* tests/b.py\n'}, "tests/unit/covered_by.txt:1: there is no test 'tests/b.py'"),
        ({'core/a.c': HEAD, 'tests/unit/covered_by.txt': 'core/* -\n'}, 'tests/unit/covered_by.txt:1: no reason why nothing covers core/*'),
        ({'core/a.c': HEAD, 'tests/unit/core/a_more_test.c': HEAD, 'tests/unit/covered_by.txt': 'core/* - none\n'},
         "tests/unit/covered_by.txt:1: no file without a test is 'core/*'"),
    ],
    'calls': [
        ({'aggregate/a.c': c('\tstrcpy(a, b);\n')}, "aggregate/a.c:2: 'strcpy' is not called in this tree"),
        ({'core/a.c': c('\tabort();\n'), 'core/CMakeLists.txt': GUEST}, "core/a.c:2: 'abort' is not called in the guest"),
        ({'mpi/a.c': c('\tprintf("a");\n')}, "mpi/a.c:2: 'printf' is not called in the guest"),
        ({'mpi/a.c': c('\tfputs("a", stdout);\n')}, 'mpi/a.c:2: the guest writes on stdout'),
        ({'core/base/tick.h': c('\tmalloc(1);\n')}, "core/base/tick.h:2: 'malloc' is not called between callback and record"),
    ],
    'size': [
        ({'core/a.c': HEAD + 'int a;\n' * 800}, 'core/a.c:801: 801 lines'),
        ({'core/a.c': LONG_FUNCTION}, 'core/a.c:2: a function of 64 lines'),
        ({'core/a.c': 'int a;\n'}, 'core/a.c:1: no head'),
        ({'core/a.c': c('#define A \\\n' + '\t1 + \\\n' * 62 + '\t1\n')}, 'core/a.c:2: a macro of 63 lines'),
    ],
    'headers': [({'core/a.h': c('static inline size_t a(void)\n{\n\treturn 0;\n}\n')}, 'core/a.h:2: \'core/a.h\' does not compile by itself'),
                ({'core/podprof.h': c('static inline int *podprof_a(void *p)\n{\n\treturn p;\n}\n')}, 'core/podprof.h:4: ')],
    'symbols': [
        ({'core/podprof.map': MAP, 'lib.c': 'int podprof_api, other;\n'}, "core/podprof.map:1: 'lib/libpodprof.so' exports 'other'"),
        ({'core/podprof.map': MAP, 'lib.c': 'static int unused;\n'}, "core/podprof.map:3: 'lib/libpodprof.so' does not export 'podprof_api'"),
        ({'core/podprof.map': MAP, 'lib.c': 'int elsewhere(void);\nint podprof_api(void)\n{\n\treturn elsewhere();\n}\n'},
         "core/podprof.map:1: 'lib/libpodprof.so' wants 'elsewhere' of another library"),
        *([({'core/podprof.map': MAP, 'lib.c': 'int on_exit(void *, void *);\nint podprof_api(void)\n{\n\treturn on_exit(0, 0);\n}\n'},
            "core/podprof.map:1: 'lib/libpodprof.so' wants 'on_exit', which musl has not")] if glob.glob('/lib/ld-musl-*.so.1') else []),
    ],
    'defs': [
        ({'core/a.def': RECORDS + 'PP_RECORD(A, 1)\n'}, 'core/a.def:2: 2 columns, PP_RECORD has 3'),
        ({'core/a.def': RECORDS + 'PP_RECORD(A, 1, "a")\nPP_RECORD(B, 1, "b")\n'}, 'core/a.def:3: number 1 stands in line 2 already'),
        ({'core/a.def': RECORDS + 'PP_RECORD(A, 1, "a")\nPP_RECORD(A, 2, "b")\n'}, 'core/a.def:3: A stands in line 2 already'),
        ({'core/a.def': LOSSES + 'PP_LOSS(A, "a", "b")\n'}, 'core/a.def:2: docs/formats.md lacks the row'),
        ({'core/a.def': RECORDS + 'int a;\n'}, 'core/a.def:2: not a row'),
        ({'core/a.def': 'PP_RECORD(A, 1, "a")\n'}, 'core/a.def:1: no head'),
        ({'mpi/a.def': MPI_ROWS + 'PP_MPI(Sendrecv, X)\n', 'docs/sources.md': 'Send, Recv\n'},
         "mpi/a.def:2: docs/sources.md does not name 'Sendrecv'"),
        ({'core/a.def': '/* PP_OPT(name, NAME, argument, default, type, groups, help): options. */\nPP_OPT("a-b", A, "", "", FLAG, RUN, "x")\n'},
         'core/a.def:2: option "a-b" is called A'),
        ({'core/a.def': COLUMN_ROWS + 'PP_TABLE(a)\nPP_COLUMN(x, I8)\nPP_TABLE_END()\nPP_TABLE(b)\nPP_COLUMN(x, I8)\nPP_COLUMN(x, U8)\n'},
         'core/a.def:7: b x stands in line 6 already'),
    ],
    'links': [({'README.md': 'see [a](docs/a.md)\n'}, "README.md:1: 'docs/a.md' leads nowhere"),
              ({'docs/a.md': '# One two\n\n[a](#one-two) [b](#three)\n'}, "docs/a.md:3: '#three' has no such heading"),
              ({'docs/a.md': '# A\n', 'core/a.c': c('"see docs/a.md#b"\n')}, "core/a.c:2: 'docs/a.md#b' has no such heading"),
              ({'docs/a.md': '# A\n', 'core/a.c': c('#define READ "docs/a.md#"\nREAD "b"\n')}, "core/a.c:3: 'docs/a.md#b' has no such heading")],
    'terms': [({'core/a.c': c('int pp_window_told;\n')}, "core/a.c:2: name 'pp_window_told'; say: "),
              ({'core/a.c': c('/* What was asked for\n * in vain. */\nint a;\n')}, "core/a.c:3: comment 'in vain'; say: "),
              ({'core/a.py': '"""A guest."""\n'}, "core/a.py:1: comment 'guest'"), ({'core/a.py': 'lanes = 1\n'}, "core/a.py:1: name 'lanes'"),
              ({'core/step/a.c': c('static int note_kept;\n')}, "core/step/a.c:2: name 'note_kept'; say: what it is")],
    'words': [({'core/a.c': c(UNFINISHED)}, "core/a.c:2: '"), ({'core/a.c': c(HOME)}, 'core/a.c:2: '),
              ({'docs/a.md': 'The window asks\nfor itself.\n'}, "docs/a.md:1: 'asks for itself'; say: "),
              ({'core/a.def': '/* A. */\n"as in 10s"\n'}, "core/a.def:2: 'as in'; say: for example"),
              ({'launchers/a.c': c('\tputs("how to mend it");\n')}, "launchers/a.c:2: 'mend'; say: repair"),
              ({'README.md': 'A date by its own word.\n'}, "README.md:1: 'by its own word'; say: "),
              ({'README.md': 'They wait 4.08 ms a step.\n'}, "README.md:1: '4.08 ms a step'; say: per step"),
              ({'core/a.def': '/* A. */\n"hold the last so long only"\n'}, "core/a.def:2: 'the last so long only'; say: name the time"),
              ({'launchers/a.c': c('static const char *a = "half the "\n\t"middle half";\n')}, "launchers/a.c:2: 'half the middle half'"),
              ({'launchers/a.c': c('static const char *a = "by "\n\t"code";\n')}, "launchers/a.c:2: 'by code'; say: via API"),
              ({'aggregate/a.js': 'const a = `rank 3 is innocent`;\n'}, "aggregate/a.js:1: 'innocent'; say: "),
              ({'core/a.def': '/* A. */\n"innocent"\n'}, "core/a.def:2: 'innocent'; say: ")],
    'scripts': [({'scripts/a!': SHELL + 'echo $1\n'}, 'scripts/a:3: shellcheck SC2086'),
                ({'scripts/a!': SHELL + '# shellcheck disable=SC2086\necho $1\n'}, 'scripts/a:3: shellcheck is silenced without a reason'),
                ({'tests/a.py': 'def a(:\n'}, 'tests/a.py:1: does not compile')],
    'tidy': [({'core/a.c': c(RECURSION), '.clang-tidy': "Checks: '-*,misc-no-recursion'\n"}, 'core/a.c:4: '),
             ({'core/a.c': c('int a; /* NOLINT */\n')}, 'core/a.c:2: NOLINT without a check or a reason')],
    'cppcheck': [({'core/a.c': c(OUT_OF_BOUNDS)}, 'core/a.c:8: cppcheck arrayIndexOutOfBounds'),
                 ({'core/a.c': c('/* cppcheck-suppress nullPointer */\nint a;\n')}, 'core/a.c:2: cppcheck is silenced without a reason')],
    'analyzer': [({'core/a.c': c(FREED_USED)}, 'core/a.c:9: use after')],
}

COMMITS = [
    ('core: ' + 'a' * 70, 'why', '76 characters, 72 is the most'),
    ('a sentence without an area', 'why', "not of the form 'area: do this'"),
    ('nowhere: do this', 'why', "there is no 'nowhere' in the tree"),
    ('core: do this', '', 'no body'),
]

# Nothing to say about any of it, nor about what is marked with its reason.
GOOD = {
    'core/CMakeLists.txt': GUEST,
    'core/podprof.map': MAP,
    'lib.c': '/* The library. Built by the self-test. */\nextern int podprof_api;\nint podprof_api;\n',
    'core/a.h': c('#ifndef A_H\n#define A_H\n\n#include <stddef.h>\n\n/* Bytes of the text. */\nsize_t a(const char *text);\n\n#endif\n'),
    'core/a.c': c('#include "core/a.h"\n\n#include <stdlib.h>\n#include <string.h>\n\nsize_t a(const char *text)\n{\n\tif (!*text)\n'
                  '\t\tabort(); /* may call abort: a sample, as in 10s */\n\treturn strlen(text);\n}\n'),
    'core/podprof.h': c('#ifndef PODPROF_H\n#define PODPROF_H\nextern int podprof_api;\n#endif\n'),
    'core/cause.def': LOSSES + 'PP_LOSS(A, "a", "a, (b")\n',
    'docs/formats.md': '| a | a, (b |\n',
    'scripts/a!': SHELL + 'echo "$1"\n',
    'tests/unit/covered_by.txt': '# PRODUCT TEST\ncore/* tests/b.py\n',
    'tests/b.py!': '#!/usr/bin/python3\n"""B."""\nprint(1)\n',
    'scripts/b.py!': '#!/usr/bin/python3\n"""B."""\nprint(1)\n',
    '.clang-tidy': "Checks: '-*,misc-*'\n",
}
