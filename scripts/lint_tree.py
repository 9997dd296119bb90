"""What the scripts/check-* share: the files of the tree, C without comments, a report, a cache by content. Imported by them only."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

SKIPPED = 77
# The last commit in which the analysers found nothing, and the rules of each of them then; written by scripts/lint-green.
GREEN = 'tests/lint/green'


class Lint:
    """One check: collects what is wrong; end() prints it and gives the exit code (0 clean, 1 not, 77 cannot be checked here)."""

    def __init__(self, what, options=()):
        parser = argparse.ArgumentParser(description=what)
        parser.add_argument('--root', default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))), help='tree to check')
        parser.add_argument('--build', default='', help='its build directory (default: ROOT/build)')
        for name, text in options:
            parser.add_argument(name, default='', help=text)
        parser.add_argument('--all', action='store_true', default=bool(os.environ.get('PODPROF_LINT_ALL')),
                            help='everything, not only what has changed since the tree in %s (also by PODPROF_LINT_ALL=1)' % GREEN)
        parser.add_argument('files', nargs='*', help='only these files, relative to the root')
        self.options = parser.parse_args()
        self.root = os.path.abspath(self.options.root)
        self.build = os.path.abspath(self.options.build or os.path.join(self.root, 'build'))
        self.found = []
        self.included = {}

    def say(self, path, line, rule, repair):
        self.found.append((path, line, '%s:%d: %s; %s' % (path, line, rule, repair)))

    def end(self):
        for _, _, text in sorted(set(self.found)):
            print(text)
        return 1 if self.found else 0

    def path(self, name):
        return os.path.join(self.root, name)

    def text(self, name):
        with open(self.path(name), encoding='utf-8', errors='surrogateescape') as f:
            return f.read()

    def files(self, *endings, under=()):
        """Files of the tree that end so, sorted; those that git knows, or where there is no git all but build directories."""
        names = self.options.files or tracked(self.root)
        return [n for n in names if (not endings or n.endswith(endings)) and (not under or n.startswith(under))]

    def python(self):
        return [n for n in self.files() if n.endswith('.py') or first_line(self.path(n)).startswith('#!/usr/bin/python3')]

    def shell(self):
        return [n for n in self.files() if n.endswith('.sh') or re.match(r'#! ?/bin/(ba)?sh', first_line(self.path(n)))]


def skip(why):
    print('skipped: ' + why)
    sys.exit(SKIPPED)


def tracked(root):
    if os.path.exists(os.path.join(root, '.git')):
        r = subprocess.run(['git', '-c', 'safe.directory=*', '-C', root, 'ls-files', '-z'], capture_output=True, text=True)
        if r.returncode == 0:
            return sorted(n for n in r.stdout.split('\0') if n and os.path.isfile(os.path.join(root, n)))
    names = []
    for where, directories, files in os.walk(root):
        directories[:] = [d for d in directories if not d.startswith('build') and d not in ('.git', '__pycache__', 'podprof_logs')]
        names += [os.path.relpath(os.path.join(where, f), root) for f in files if not os.path.islink(os.path.join(where, f))]
    return sorted(names)


def first_line(path):
    with open(path, 'rb') as f:
        return f.readline(200).decode('utf-8', 'replace')


def plain_c(text, strings=False):
    """C without comments and, unless asked for, without what stands in quotes: same lines, same columns."""
    def blank(m):
        s = m.group(0)
        if s[0] != '/' and strings:
            return s
        inner = re.sub(r'[^\n]', ' ', s)
        return inner if s[0] == '/' else s[0] + inner[1:-1] + s[-1]
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def compile_commands(lint):
    """{file of the tree: flags of its first target}, from compile_commands.json; only what the tree holds."""
    path = os.path.join(lint.build, 'compile_commands.json')
    if not os.path.exists(path):
        skip("no compile_commands.json in '%s': configure it with cmake" % lint.build)
    known, commands = set(lint.files('.c')), {}
    for entry in json.load(open(path)):
        name = os.path.relpath(entry['file'], lint.root)
        if name in known and name not in commands:
            words = entry['command'].split()
            keep = [w.replace('\\"', '"').replace('\\ ', ' ') for w in flags_only(words)]
            commands[name] = keep
    return commands


def flags_only(words):
    """-I, -isystem, -D, -std and the like of a compiler command; not the compiler, -c, -o and files."""
    flags, i = [], 1
    while i < len(words):
        if words[i] in ('-isystem', '-include'):
            flags += words[i:i + 2]
            i += 1
        elif re.match(r'-(I|D|U|std|f|m|pthread)', words[i]):
            flags.append(words[i])
        i += 1
    return flags


def includes(lint, name):
    """Headers and tables of the tree that the file itself includes. Kept: check-headers asks for each file once per header."""
    if name not in lint.included:
        found = []
        for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', lint.text(name), flags=re.M):
            for candidate in (include, os.path.normpath(os.path.join(os.path.dirname(name), include))):
                if os.path.isfile(lint.path(candidate)):
                    found.append(candidate)
                    break
        lint.included[name] = found
    return lint.included[name]


def closure(lint, name):
    """The file and all headers and tables of the tree that it includes, directly or not."""
    seen, ahead = set(), [name]
    while ahead:
        at = ahead.pop()
        if at not in seen:
            seen.add(at)
            ahead += includes(lint, at)
    return seen


def sources(lint, name):
    """What decides, beside the rules, what is said about a file: closure() and the CMakeLists.txt of its directories below the root, for its flags."""
    found, where = closure(lint, name), os.path.dirname(name)
    while where:
        found.add(where + '/CMakeLists.txt')
        where = os.path.dirname(where)
    return found


def digest(lint, name, *more):
    """Of all that decides what a tool says about a file."""
    h = hashlib.sha256()
    for n in sorted(closure(lint, name)):
        h.update(n.encode() + b'\0' + open(lint.path(n), 'rb').read() + b'\0')
    for m in more:
        h.update(repr(m).encode() + b'\0')
    return h.hexdigest()


def rules_of(lint, commands, parts):
    """Of what decides what a check says, whatever file it looks at: its script, its tool and configuration, and the flags that all files share."""
    h = hashlib.sha256()
    for path in (sys.argv[0], os.path.abspath(__file__)):
        h.update(open(path, 'rb').read() + b'\0')
    each = [{w.replace(lint.build, '@build').replace(lint.root, '@root') for w in f} for f in commands.values()]
    flags = set.intersection(*each) if each else set()
    h.update(repr((sorted(flags), parts)).encode())
    return h.hexdigest()


def changed(lint, tool, rules):
    """Names that differ from the last green tree; None where all must be looked at: asked for, no such tree here, or other rules."""
    where = os.path.join(lint.build, 'lint-cache')
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, tool + '.rules'), 'w') as f:
        f.write(rules + '\n')
    if lint.options.all or lint.options.files or not os.path.exists(lint.path(GREEN)):
        return None
    green = dict(line.split() for line in lint.text(GREEN).split('\n') if line and not line.startswith('#'))
    if green.get(tool) != rules:
        return None
    r = subprocess.run(['git', '-c', 'safe.directory=*', '-C', lint.root, 'diff', '--no-ext-diff', '--name-only', '-z', green.get('tree', ''), '--'],
                       capture_output=True, text=True)
    return set(r.stdout.split('\0')) if r.returncode == 0 else None


def run_cached(lint, tool, jobs, rules):
    """jobs: [(name, command, more)]; two processes at a time. Gives {name: output}; a clean or known file is not run again."""
    where = os.path.join(lint.build, 'lint-cache', tool)
    differ = changed(lint, tool, rules)
    os.makedirs(where, exist_ok=True)

    def one(job):
        name, command, more = job
        if differ is not None and not differ & sources(lint, name):
            return name, ''
        path = os.path.join(where, digest(lint, name, command, *more))
        if os.path.exists(path):
            return name, open(path).read()
        r = subprocess.run(command, cwd=lint.root, capture_output=True, text=True, errors='replace')
        out = r.stdout + r.stderr
        if r.returncode < 0:
            return name, '%s:1: error: %s ended by signal %d\n' % (name, tool, -r.returncode)
        if ' error: ' in out:  # a generated header of another moment: the digest does not know it
            return name, out
        with open('%s.%d' % (path, os.getpid()), 'w') as f:
            f.write(out)
        os.rename(f.name, path)
        return name, out

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        return dict(pool.map(one, jobs))


def version(tool):
    try:
        r = subprocess.run([tool, '--version'], capture_output=True, text=True)
    except OSError:
        skip("'%s' is not installed: scripts/install-deps" % tool)
    return r.stdout
