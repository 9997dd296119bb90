#!/usr/bin/python3
"""Gives every scripts/check-* trees that are wrong in one way each: it must say so, with file and line, and be silent about a clean one.
Run by ctest lint.selftest."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

from samples import BAD, COMMITS, FREED_USED, GOOD, HEAD, c

SKIPPED = 77
failed, skipped = [], []


def make(root, files, style):
    for name, text in files.items():
        path = os.path.join(root, name.rstrip('!'))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)
        if name.endswith('!'):
            os.chmod(path, 0o755)
    shutil.copy(style, os.path.join(root, '.clang-format'))
    build = os.path.join(root, 'build')
    os.makedirs(os.path.join(build, 'lib'))
    entries = [{'directory': build, 'file': os.path.join(root, n), 'command': 'cc -I%s -std=c11 -o x.o -c %s' % (root, os.path.join(root, n))}
               for n in files if n.endswith('.c') and n != 'lib.c']
    json.dump(entries, open(os.path.join(build, 'compile_commands.json'), 'w'))
    if 'lib.c' in files:
        subprocess.run(['gcc', '-w', '-shared', '-fPIC', '-o', os.path.join(build, 'lib/libpodprof.so'), os.path.join(root, 'lib.c')], check=True)
    return build


def run(scripts, check, root, *words):
    command = [os.path.join(scripts, 'check-' + check), '--root', root, '--build', os.path.join(root, 'build'), *words]
    # scripts/test --full asks its own lints to look at everything: a sample says itself what it asks for.
    r = subprocess.run(command, capture_output=True, text=True, env={n: v for n, v in os.environ.items() if n != 'PODPROF_LINT_ALL'})
    return r.returncode, r.stdout + r.stderr


def expect(scripts, check, files, want, style):
    with tempfile.TemporaryDirectory(prefix='podprof-lint-') as root:
        make(root, files, style)
        rc, out = run(scripts, check, root)
    if rc == SKIPPED and not check == 'symbols':
        skipped.append('check-%s: %s' % (check, out.strip()))
    elif want is None and rc != 0:
        failed.append('check-%s is not content with the clean tree (%d):\n%s' % (check, rc, out))
    elif want is not None and (rc != 1 or not any(line.startswith(want) for line in out.split('\n'))):
        failed.append("check-%s: exit %d and not '%s', but:\n%s" % (check, rc, want, out))


def commits(scripts):
    git = ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false']
    for subject, body, want in COMMITS + [('core: do this', 'Because.', None)]:
        with tempfile.TemporaryDirectory(prefix='podprof-lint-') as root:
            os.mkdir(os.path.join(root, 'core'))
            subprocess.run(['git', 'init', '-q', root], check=True)
            subprocess.run(git + ['-C', root, 'commit', '-q', '--allow-empty', '-m', subject] + (['-m', body] if body else []), check=True)
            rc, out = run(scripts, 'commits', root, '--since', '2000-01-01')
        if (rc, want is None or want in out) != (1 if want else 0, True):
            failed.append("check-commits: exit %d on '%s', wanted '%s':\n%s" % (rc, subject, want, out))


def green(scripts, style):
    """Of files that are as they were in the tree of tests/lint/green nothing is said, of what has changed since and all that includes it is."""
    says = 'core/a.c:'
    with tempfile.TemporaryDirectory(prefix='podprof-lint-') as root:
        make(root, {'core/a.c': FREED_USED.replace('int f(', '#include "a.h"\n\nint f(', 1), 'core/a.h': HEAD, 'core/CMakeLists.txt': '',
                    'core/b.c': c('int b;\n')}, style)
        git = ['git', '-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false']
        subprocess.run(git + ['init', '-q'], check=True)
        subprocess.run(git + ['add', 'core'], check=True)
        subprocess.run(git + ['commit', '-q', '-m', 'core: do this'], check=True)
        got = [run(scripts, 'analyzer', root)]  # no such file yet: everything
        tree = subprocess.run(git + ['rev-parse', 'HEAD^{tree}'], capture_output=True, text=True).stdout
        rules = open(os.path.join(root, 'build/lint-cache/analyzer.rules')).read()
        stamp = os.path.join(root, 'tests/lint/green')
        os.makedirs(os.path.dirname(stamp))
        for text in ('tree %sanalyzer %s' % (tree, rules), 'tree %sanalyzer 0\n' % tree, 'tree 0123456\nanalyzer %s' % rules):
            open(stamp, 'w').write(text)
            got.append(run(scripts, 'analyzer', root))
        open(stamp, 'w').write('tree %sanalyzer %s' % (tree, rules))
        got.append(run(scripts, 'analyzer', root, '--all'))
        for name in ('core/b.c', 'core/a.h', 'core/CMakeLists.txt'):
            with open(os.path.join(root, name), 'a') as f:
                f.write('/* more */\n')
            got.append(run(scripts, 'analyzer', root))
            if name == 'core/a.h':
                subprocess.run(git + ['checkout', '-q', 'core/a.h'], check=True)
    # At first; green; other rules; a tree that is not there; --all; another file changed; its header did; where its flags come from did.
    wanted = [1, 0, 1, 1, 1, 0, 1, 1]
    if [rc for rc, _ in got] != wanted or not all(out.startswith(says) for rc, out in got if rc):
        failed.append('tests/lint/green: exits %s, wanted %s:\n%s' % ([rc for rc, _ in got], wanted, ''.join(out for _, out in got)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--scripts', required=True)
    scripts = os.path.abspath(parser.parse_args().scripts)
    style = os.path.join(os.path.dirname(scripts), '.clang-format')
    known = {n[len('check-'):] for n in os.listdir(scripts) if n.startswith('check-')}
    for name in sorted(known ^ (set(BAD) | {'commits'})):
        failed.append("check-%s has no bad sample here, or is no script" % name)
    for check in sorted(known & set(BAD)):
        for files, want in BAD[check]:
            expect(scripts, check, files, want, style)
        expect(scripts, check, GOOD, None, style)
    if shutil.which('git'):
        commits(scripts)
        green(scripts, style)
    for text in failed:
        print(text)
    for text in sorted(set(skipped)):
        print('skipped: ' + text)
    print('%d checks, %d samples, %d wrong' % (len(known), sum(map(len, BAD.values())) + len(COMMITS), len(failed)))
    return 1 if failed else 0


sys.exit(main())
