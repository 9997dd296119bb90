#!/usr/bin/python3
"""podprof view: every resource of a real session, who is refused, slow clients, exports at once, and how it ends. Run by ctest session_view."""
import atexit
import contextlib
import fcntl
import gzip
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import sys
import tempfile
import time

from e2e import good, train
import jobs
from jobs import check, session_of, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
import chromium  # noqa: E402

LARGE = 256 << 20
TRACE = "trace.perfetto-trace"
NAMES = ("", "report.html", "summary.txt", "pod.h5", TRACE, "trace.json.gz", "stacks.folded")
kept = {}  # the session that all cases view


def session(place):
    if "session" not in kept:
        logs = place.new_logs()
        good(train(place, logs, ranks=2, words=["--steps", "12"], options=["--steps", "2:8"]))
        name = os.path.basename(session_of(logs))
        root = tempfile.mkdtemp(prefix="podprof-view-")  # longer than the scratch of one case
        atexit.register(shutil.rmtree, root)
        os.rename(logs, os.path.join(root, "logs"))
        kept["session"] = os.path.join(root, "logs", "podprof", name)
    return kept["session"]


def children_of(pid):
    try:
        return open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()
    except OSError:
        return []


def runs(pid):
    """Not one that has ended, and waits for init to take its exit code."""
    try:
        return open(f"/proc/{pid}/stat", encoding="ascii", errors="replace").read().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


class View:
    def __init__(self, place, what, options, env):
        self.temporary = os.path.join(place.scratch, "tmp")
        os.makedirs(self.temporary, exist_ok=True)
        self.process = jobs.start([place.podprof(), "view", *options, what], {"TMPDIR": self.temporary, **env})
        check(wait_until(lambda: "until ^C" in self.text(1) or self.process.poll() is not None), f"view does not start: {self.text(1)}")
        found = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\n", self.text(0))
        check(found, f"no link: {self.text(0)}{self.text(1)}")
        self.port, self.token = int(found[1]), found[2]

    def text(self, which):
        return os.pread(self.process.files[which].fileno(), 1 << 16, 0).decode()

    def ask(self, path, method="GET", host=None, headers=None):
        """Status, headers, body."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(client):
            client.request(method, path, headers={"Host": host or f"127.0.0.1:{self.port}", **(headers or {})})
            got = client.getresponse()
            return got.status, got.headers, got.read()

    def get(self, name, method="GET", **other):
        return self.ask(f"/{self.token}/{name}", method, **other)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def children(self):
        return children_of(self.process.pid)

    def end(self, number=signal.SIGINT):
        """What it said, and that nothing is left of it."""
        children = self.children()
        children += [grandchild for child in children for grandchild in children_of(child)]
        os.kill(self.process.pid, number)
        got = jobs.finish(self.process, 70)
        check(got.code == 0 and not got.timed_out, got.transcript())
        check(wait_until(lambda: not any(map(runs, children))), f"children are left: {children}")
        check(not os.listdir(self.temporary), os.listdir(self.temporary))
        return got


@contextlib.contextmanager
def view(place, *options, what=None, env=None):
    v = View(place, what or session(place), options, env or {})
    try:
        yield v
    finally:
        if v.process.poll() is None:
            jobs.end(v.process)


def raw(v, data):
    """All that the server answers to these bytes."""
    with socket.create_connection(("127.0.0.1", v.port), timeout=30) as s:
        s.sendall(data)
        got = b""
        while piece := s.recv(1 << 16):
            got += piece
        return got


def resources(place, full):
    """Every resource is the file of the session, or what podprof export writes; nothing of the session changes."""
    directory = session(place)
    before = {n: os.stat(os.path.join(directory, n)).st_mtime_ns for n in os.listdir(directory)}
    with view(place, "--port", "0") as v:
        bodies = {}
        for name in NAMES:
            status, headers, body = v.get(name)
            check(status == 200 and int(headers["Content-Length"]) == len(body) > 0, f"{name}: {status} {headers} {body[:200]}")
            check(headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store", f"{name}: {headers}")
            check((headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev") == (name == TRACE), f"{name}: {headers}")
            status, again, nothing = v.get(name, "HEAD", host=f"localhost:{v.port}")
            check(status == 200 and again["Content-Length"] == headers["Content-Length"] and not nothing, f"HEAD {name}: {status} {again}")
            bodies[name] = body
        for name in ("report.html", "summary.txt", "pod.h5"):
            check(bodies[name] == open(os.path.join(directory, name), "rb").read(), f"{name} differs")
        check(bodies[""] == bodies["report.html"], "the first page is not the report")
        for name, form in ((TRACE, "perfetto"), ("trace.json.gz", "chrome"), ("stacks.folded", "folded")):
            path = os.path.join(place.scratch, "export")
            got = jobs.run([place.podprof(), "export", "--format", form, "-o", path, directory])
            check(got.code == 0 and bodies[name] == open(path, "rb").read(), f"{name} is not what export writes: {got.transcript()}")
        json.loads(gzip.decompress(bodies["trace.json.gz"]))
        v.end()
    after = {n: os.stat(os.path.join(directory, n)).st_mtime_ns for n in os.listdir(directory)}
    check(before == after, f"the session was changed: {before} {after}")


def stale(place, full):
    """A page that is missing or older than the session is made anew, and is not written into the session."""
    directory = os.path.join(place.new_logs(), "podprof", "copy")
    shutil.copytree(session(place), directory)
    page = os.path.join(directory, "report.html")
    with open(page, "w", encoding="ascii") as f:
        f.write("old")
    os.utime(page, (1, 1))
    with view(place, "--port", "0", what=directory) as v:
        check(b"</html>" in v.get("")[2], "the old page was sent")
        os.unlink(page)
        check(b"</html>" in v.get("report.html")[2] and not os.path.exists(page), "the missing page was not made, or was kept")
        os.mkfifo(os.path.join(directory, "pipe"))
        os.rename(os.path.join(directory, "pipe"), os.path.join(directory, "summary.txt"))
        status, _, body = v.get("summary.txt")
        check(status == 500 and b"is not a file" in body, f"a pipe: {status} {body}")
        os.truncate(os.path.join(directory, "pod.h5"), 100)
        for name in ("report.html", TRACE, "stacks.folded"):
            status, headers, body = v.get(name)
            check(status == 500 and headers["Content-Type"].startswith("text/plain") and b"pod.h5" in body, f"{name}: {status} {body[:300]}")
        v.end(signal.SIGTERM)


def refused(place, full):
    """No token, a wrong one, another host, other methods, paths, requests that are too long or no HTTP."""
    with view(place, "--port", "0") as v:
        before = v.descriptors()
        wrong = ("0" if v.token[0] != "0" else "1") + v.token[1:]
        for path in ("/", "/favicon.ico", "/report.html", f"/{wrong}/", f"/{v.token}", f"/{v.token[:-1]}/", "/status"):
            for method in ("GET", "POST", "OPTIONS"):
                status, headers, body = v.ask(path, method)
                check(status == 404 and not body and sorted(headers) == ["Connection", "Content-Length"], f"{method} {path}: {status} {headers} {body}")
        for host in ("evil.example", f"evil.example:{v.port}", "127.0.0.1", f"127.0.0.1:{v.port + 1}"):
            check(v.get("", host=host)[0] == 404, host)
        for name in ("../../../etc/passwd", "..", "%2e%2e/pod.h5", "//etc/passwd", "./pod.h5", "pod.h5/", "pod.h5%00", "report.html?x=1", "x" * 4000):
            status, _, body = v.get(name)
            check(status == 404 and not body, f"{name}: {status} {body[:100]}")
        for method in ("POST", "PUT", "DELETE", "TRACE"):
            status, headers, _ = v.get("pod.h5", method)
            check(status == 405 and headers["Allow"] == "GET, HEAD", f"{method}: {status} {headers}")
        check(v.get("pod.h5", "OPTIONS")[0] == 405, "a preflight for what no other page may read")
        status, headers, _ = v.get(TRACE, "OPTIONS", headers={"Origin": "https://ui.perfetto.dev", "Access-Control-Request-Private-Network": "true"})
        check(status == 204 and headers["Access-Control-Allow-Private-Network"] == "true" and
              headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev", f"{status} {headers}")
        check(raw(v, b"GET /" + b"x" * 9000).startswith(b"HTTP/1.1 431 "), "a long request")
        check(raw(v, b"\x16\x03\x01\x02\0\x01\r\n\r\n").startswith(b"HTTP/1.1 400 "), "no HTTP")
        check(v.get("summary.txt")[0] == 200, "it serves no more")
        check(wait_until(lambda: v.descriptors() == before), f"{before} descriptors, then {v.descriptors()}")
        v.end()


def ask_only(clients, v, name):
    s = clients.enter_context(socket.create_connection(("127.0.0.1", v.port), timeout=60))
    s.sendall(f"GET /{v.token}/{name} HTTP/1.1\r\nHost: 127.0.0.1:{v.port}\r\n\r\n".encode())
    return s


def received(s):
    """Bytes until the end or a reset."""
    count = 0
    with contextlib.suppress(ConnectionResetError):
        while piece := s.recv(1 << 20):
            count += len(piece)
    return count


def is_open(s):
    """The server sends no byte to a slow client: what can be read is its end."""
    return not select.select([s], [], [], 0)[0]


def slow(place, full):
    """Clients that send nothing, half of a request, or take nothing keep nobody out; they are closed after the deadline."""
    directory = os.path.join(place.new_logs(), "podprof", "copy")
    shutil.copytree(session(place), directory)
    os.truncate(os.path.join(directory, "pod.h5"), LARGE)  # more than sockets hold
    with view(place, "--port", "0", what=directory) as v, contextlib.ExitStack() as clients:
        stalled = ask_only(clients, v, "pod.h5")
        check(stalled.recv(5) == b"HTTP/", "no answer")
        opened = []
        for i in range(40):  # more than it has places
            s = clients.enter_context(socket.create_connection(("127.0.0.1", v.port), timeout=30))
            if i % 2:
                s.sendall(f"GET /{v.token}/pod.h5 HTTP/1.1\r\nHost:".encode())
            opened.append(s)
            if i % 5 == 0:
                check(v.get("summary.txt")[0] == 200, f"not served beside {i + 1} slow clients")
                check(is_open(opened[-5 if i else 0]), f"of {i + 1} slow clients not only the oldest were closed")
        for _ in range(40):  # many in one millisecond: each has its place until twelve others have come
            opened.append(clients.enter_context(socket.create_connection(("127.0.0.1", v.port), timeout=30)))
        check(v.get("summary.txt")[0] == 200, "not served beside 80 slow clients")
        s = opened[-1]
        check(all(is_open(c) for c in opened[-12:]), "of clients that came at once not only the oldest were closed")
        check(s.recv(1) == b"", "the last one was answered")
        check(0 < received(stalled) < LARGE, "a client that takes nothing was not closed")
        check(len(v.get("pod.h5")[2]) == LARGE, "a large file")
        check(v.get("summary.txt")[0] == 200, "it serves no more")
        v.end()


def trickle(place, full):
    """A client that never stops sending, byte by byte, is closed too: the deadline is for the whole request."""
    with view(place, "--port", "0") as v, socket.create_connection(("127.0.0.1", v.port), timeout=30) as s:
        s.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(600):
            if not is_open(s):
                break
            with contextlib.suppress(OSError):  # closed in the meantime: is_open() will say so
                s.sendall(b"x")
            time.sleep(0.2)
        check(not is_open(s) and not received(s), "it was answered, or is still open")
        check(v.get("summary.txt")[0] == 200, "it serves no more")
        v.end()


def at_once(place, full):
    """Exports at once give the same bytes, and no child stays."""
    with view(place, "--port", "0") as v, contextlib.ExitStack() as clients:
        before = v.descriptors()
        asked = [ask_only(clients, v, TRACE) for _ in range(5)]
        got = [s.makefile("rb").read() for s in asked]
        for s in asked:
            s.close()
        check(len(set(got)) == 1 and got[0].startswith(b"HTTP/1.1 200 ") and len(got[0]) > 1000, [g[:200] for g in got])
        check(wait_until(lambda: not v.children() and v.descriptors() == before), f"left: {v.children()}, {before} descriptors, then {v.descriptors()}")
        v.end()


@contextlib.contextmanager
def endless(place):
    """A view whose exports wait: whoever opens pod.h5 waits until this process gives its lease back, or for lease-break-time."""
    directory = os.path.join(place.new_logs(), "podprof", "copy")
    shutil.copytree(session(place), directory)
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # says that somebody waits
    with view(place, "--port", "0", what=directory) as v, contextlib.ExitStack() as clients:
        with open(os.path.join(directory, "pod.h5"), "r+b") as f:
            try:
                fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            except OSError as why:
                raise jobs.Skipped(f"no leases on the file system of {directory}: {why}")
            yield v, clients


def meanwhile(place, full):
    """Others are served while exports are made, two at a time; a client that leaves takes its child with it."""
    with endless(place) as (v, clients):
        asked = [ask_only(clients, v, TRACE) for _ in range(4)]
        check(wait_until(lambda: len(v.children()) == 2), f"children: {v.children()}")
        check(v.get("summary.txt")[0] == 200, "the summary waits for exports")
        first = v.children()
        check(len(first) == 2, f"children: {first}")
        asked[3].close()  # waits for its turn
        asked[0].close()
        check(wait_until(lambda: len(v.children()) == 2 and len(set(v.children()) & set(first)) == 1), f"{first}, then {v.children()}")
        for s in asked[1:3]:
            s.close()
        check(wait_until(lambda: not v.children()), f"the children of clients that have gone are still there: {v.children()}")
        v.end()


def interrupted(place, full):
    """^C and SIGTERM end it with 0 while exports are made, and leave no process and no file."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with endless(place) as (v, clients):
            ask_only(clients, v, TRACE)
            check(wait_until(lambda: [c for child in v.children() for c in children_of(child)]), "nothing is made")
            got = v.end(number)
            check(got.out.count("\n") == 1 and not got.other_err(), got.transcript())


def ports(place, full):
    """The default port is replaced if it is taken, a given one is not; only its own machine can connect."""
    with contextlib.ExitStack() as taken:
        with contextlib.suppress(OSError):  # somebody else's is as good
            taken.enter_context(socket.create_server(("127.0.0.1", 9001)))
        with view(place) as v:
            check(v.port != 9001 and "ui.perfetto.dev" not in v.text(0) and "podprof export --format perfetto" in v.text(1), v.text(0) + v.text(1))
            check("Free port 9001, or" in v.text(1), v.text(1))
            listens = [line.split()[1] for line in open("/proc/net/tcp", encoding="ascii").readlines()[1:] if line.split()[3] == "0A"]
            check(f"0100007F:{v.port:04X}" in listens and f"00000000:{v.port:04X}" not in listens, listens)
            got = jobs.run([place.podprof(), "view", "--port", str(v.port), session(place)])
            check(got.code == 1 and "already in use" in got.err and not got.out and len(got.podprof_lines()) == 1, got.transcript())
            v.end()
    for words, code in ((["--port", "80"], 64), (["--port", "70000"], 64), (["--port", "x"], 64), (["a", "b"], 64), ([os.path.join(place.scratch, "none")], 1)):
        got = jobs.run([place.podprof(), "view", *words])
        check(got.code == code and not got.out and len(got.podprof_lines()) == 1, got.transcript())


def tunnel(place, full):
    """In a login by ssh it prints the command for the other machine."""
    with view(place, "--port", "0", env={"SSH_CONNECTION": "192.0.2.7 50000 192.0.2.9 2222", "LOGNAME": "me"}) as v:
        check(f"ssh -N -L {v.port}:127.0.0.1:{v.port} -p 2222 me@192.0.2.9\n" in v.text(0), v.text(0))
        check("Take port 9001, or" in v.text(1), v.text(1))
        v.end()
    with view(place, "--port", "0", env={"SSH_CONNECTION": "192.0.2.7 50000 a;b 22"}) as v:
        check("ssh" not in v.text(0), v.text(0))
        v.end()


def open_made_up(b, url):
    """An empty page of another site, without a network."""
    origin = url.rstrip("/")
    for name in ("localNetworkAccess", "loopbackNetwork"):  # what the user is asked for; browsers have none, one or both names
        with contextlib.suppress(RuntimeError):
            b.call("Browser.grantPermissions", origin=origin, permissions=[name])
    b.call("Fetch.enable", patterns=[{"urlPattern": url}])
    b.events.clear()
    b.js(f"void setTimeout(() => {{ location.href = '{url}' }})")

    while not (paused := [e["params"]["requestId"] for e in b.events if e.get("method") == "Fetch.requestPaused"]):
        b.events.append(b.message(time.monotonic() + 30))
    b.call("Fetch.fulfillRequest", requestId=paused[0], responseCode=200, responseHeaders=[{"name": "Content-Type", "value": "text/html"}], body="")
    b.wait(f"location.origin === '{origin}'")
    b.call("Fetch.disable")


def browser(place, full):
    """A real Chromium opens the link without a complaint; the page of Perfetto may read the trace, another page may not."""
    if not chromium.PROGRAM:
        raise jobs.Skipped("no chromium (apt-get install chromium)")
    with view(place, "--port", "0") as v:
        b = chromium.Chromium()
        try:
            b.open_url(f"http://127.0.0.1:{v.port}/{v.token}/")
            check(b.js("document.title") and not b.complaints(), b.complaints())
            for origin, want in (("https://ui.perfetto.dev", "read"), ("https://evil.example", "refused")):
                open_made_up(b, origin + "/")
                read = f"fetch('http://127.0.0.1:{v.port}/{v.token}/{TRACE}').then(r => r.arrayBuffer()).then(() => 'read', () => 'refused')"
                check(b.js(read) == want, f"{origin}: {b.complaints()}")
        finally:
            b.close()
        v.end()


CASES = {"resources": resources, "stale": stale, "refused": refused, "slow": slow, "trickle": trickle, "at_once": at_once, "meanwhile": meanwhile, "interrupted": interrupted,
         "ports": ports, "tunnel": tunnel, "browser": browser}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
