"""The rooms of the tree, from the bottom to the top, and what the checks of their order share. Imported by check-layers and check-units only."""
import os
import re

EXCUSED_UNITS = 'scripts/units.excused'
# A path belongs to the longest of these that it begins with. An include or a call may go down or stay.
FLOORS = (
    ('core/podprof.h', 'launchers/cmd.h'),
    ('core/marks/',),
    ('core/io/',),
    ('core/base/',),
    ('core/call/',),
    ('core/ring/',),
    ('core/capture/',),
    ('core/coord/',),
    ('core/window/',),
    ('core/clock/',),
    ('core/step/',),
    ('core/source/',),
    ('core/',),
    ('proto/', 'mpi/dispatch/'),
    ('mpi/',),
    ('aggregate/spool/',),
    ('aggregate/dataset/',),
    ('aggregate/read/',),
    ('aggregate/graph/',),
    ('aggregate/analyze/',),
    ('aggregate/findings/',),
    ('aggregate/tools/',),
    ('aggregate/timeline/', 'aggregate/diff/'),
    ('aggregate/write/',),
    ('aggregate/report/data/', 'aggregate/report/page/'),
    ('aggregate/report/', 'aggregate/fleet/'),
    ('aggregate/session/',),
    ('aggregate/keeper/host/',),
    ('aggregate/keeper/clock/', 'aggregate/keeper/net/'),
    ('aggregate/keeper/', 'aggregate/keeper/capture/', 'aggregate/keeper/cluster/'),
    ('launchers/options/', 'launchers/say'),
    ('launchers/run/', 'launchers/python/'),
    ('launchers/brief/',),
    ('launchers/analyze/', 'launchers/ask/', 'launchers/diff/', 'launchers/doctor/', 'launchers/export/', 'launchers/view/'),
    ('launchers/',),
)


def floor(name):
    """(number from the bottom, path that gave it), or None for what stands outside."""
    homes = [(len(path), number, path) for number, paths in enumerate(FLOORS) for path in paths if name.startswith(path)]
    return max(homes)[1:] if homes else None


def unit(name):
    """X.c with X.h."""
    return re.sub(r'\.[ch]$', '', name)


def cycle(graph):
    """Sets of units, each of which reaches all others of its set."""
    index, low, stack, parts = {}, {}, [], []

    def visit(first):
        ahead = [(first, iter(sorted(graph.get(first, ()))))]
        index[first] = low[first] = len(index)
        stack.append(first)
        while ahead:
            at, following = ahead[-1]
            for n in following:
                if n not in index:
                    index[n] = low[n] = len(index)
                    stack.append(n)
                    ahead.append((n, iter(sorted(graph.get(n, ())))))
                    break
                if n in stack:
                    low[at] = min(low[at], index[n])
            else:
                ahead.pop()
                if ahead:
                    low[ahead[-1][0]] = min(low[ahead[-1][0]], low[at])
                if low[at] == index[at]:
                    part = set(stack[stack.index(at):])
                    del stack[stack.index(at):]
                    if len(part) > 1:
                        parts.append(part)

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return parts


def read_excused(lint):
    """([(line, row)], function that gives the line which excuses a rule for these paths, or None). A row: RULE and what the paths begin with."""
    lines = []
    if os.path.exists(lint.path(EXCUSED_UNITS)):
        lines = [(n, row) for n, row in enumerate(lint.text(EXCUSED_UNITS).split('\n'), 1) if row and not row.startswith('#')]

    def excused(rule, *paths):
        found = []
        for number, row in lines:
            word, *begins = row.split()
            begins = begins if len(begins) > 1 else begins * len(paths)
            if word == rule and all(p.startswith(b) for p, b in zip(paths, begins)):
                found.append((len(row), number))
        return max(found)[1] if found else None

    return lines, excused
