"""A headless Chromium driven over --remote-debugging-pipe (JSON and NUL on descriptors 3 and 4), standard library only. Used by report.py.
Keeps what a page must not do: console errors, exceptions, failed loads, requests."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-proxy-server",
         "--disable-background-networking", "--disable-component-update", "--no-first-run", "--hide-scrollbars", "--lang=en-US"]
LIMIT = 60.0


class Chromium:
    def __init__(self, width=1400, height=900):
        self.profile = tempfile.mkdtemp(prefix="podprof-chromium-")
        to_child, self.write = os.pipe()
        self.read, from_child = os.pipe()
        self.number, self.rest, self.events, self.session = 0, b"", [], None

        def descriptors():
            os.dup2(to_child, 103)
            os.dup2(from_child, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
        self.process = subprocess.Popen([PROGRAM, *FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"],
                                        preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.size(width, height)

    def message(self, until):
        while b"\0" not in self.rest:
            if not select.select([self.read], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.read, 1 << 16)
            if not got:
                raise EOFError("the browser has gone")
            self.rest += got
        first, self.rest = self.rest.split(b"\0", 1)
        return json.loads(first)

    def call(self, method, **parameters):
        self.number += 1
        order = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.write, json.dumps(order).encode() + b"\0")
        until = time.monotonic() + LIMIT
        while True:
            got = self.message(until)
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def js(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails'].get('exception', {}).get('description', '?')}")
        return got["result"].get("value")

    def wait(self, expression, limit=30.0):
        until = time.monotonic() + limit
        while not self.js(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.02)

    def open(self, path, fragment=""):
        self.open_url("file://" + os.path.abspath(path), fragment)

    def open_url(self, url, fragment=""):
        """The report there, once it stands. about:blank between: another fragment alone would be no load."""
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.events.clear()
        self.page = url
        self.call("Page.navigate", url=self.page + fragment)
        self.wait("!!document.documentElement?.dataset.ready || !!document.getElementById('failed')", LIMIT)

    def complaints(self):
        """What the open page did that it must not do. Waits for late errors."""
        self.js("new Promise(done => setTimeout(done, 100))")
        found = []
        for event in self.events:
            method, p = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent":
                url = p["request"]["url"]
                if url.split("#")[0] != self.page and not url.startswith(("data:", "blob:", "about:")):
                    found.append("request " + url)
            elif method == "Network.webSocketCreated":
                found.append("websocket " + p["url"])
            elif method == "Runtime.exceptionThrown":
                found.append("exception " + p["exceptionDetails"].get("exception", {}).get("description", "?"))
            elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                found.append("console " + str([a.get("value") or a.get("description") for a in p["args"]]))
            elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                found.append("log " + p["entry"]["text"])
            elif method == "Page.javascriptDialogOpening":
                found.append("dialog " + p["message"])
        return found

    def mouse(self, kind, x, y):
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def key(self, name):
        code = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "Tab": 9, "Enter": 13}[name]
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (EOFError, OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait(10)
        os.close(self.write)
        os.close(self.read)
        shutil.rmtree(self.profile, ignore_errors=True)
