"""A headless Chromium for tests, driven through a pipe by its DevTools protocol.
Needs no package but Chromium itself."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), " ": (32, " "),
    "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""),
    "ArrowDown": (40, ""), "Home": (36, ""), "End": (35, ""),
}


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One page in a browser. `problems` has what the page's console complains of."""

    def __init__(self, timeout=30):
        self.timeout = timeout
        self.problems = []
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def hand_over():  # Chromium reads from 3 and writes to 4
            first, second = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update",
             "--lang=en-US", "--disable-dev-shm-usage",
             f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe",
             "about:blank"],
            preexec_fn=hand_over, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.read_from, self.write_to = ours_in, ours_out
        self.held = b""
        self.last = 0
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        self.frame = None  # the session of the page's newest frame
        self.asked = []  # the addresses of all requests
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")
        # A sandboxed frame has a process of its own.
        self.send("Target.setAutoAttach", autoAttach=True, flatten=True,
                  waitForDebuggerOnStart=False)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read_from)
        os.close(self.write_to)
        self.profile.cleanup()

    def _receive(self, deadline):
        """The next message of the browser."""
        while b"\0" not in self.held:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_from], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.read_from, 1 << 16)
            if not data:
                raise EOFError("the browser has ended")
            self.held += data
        message, self.held = self.held.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        """Keeps errors that the page's console shows."""
        params = message.get("params", {})
        if message.get("method") == "Log.entryAdded":
            entry = params["entry"]
            if entry["level"] in ("error", "warning"):
                self.problems.append(f"{entry['text']} {entry.get('url', '')}".strip())
        elif message.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get(
                "description", details["text"]))
        elif message.get("method") == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif message.get("method") == "Target.attachedToTarget":
            if params["targetInfo"]["type"] == "iframe":
                self.frame = params["sessionId"]

    def send(self, method, session=None, **params):
        """Calls a method of the protocol and returns its result."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if session or self.session:
            message["sessionId"] = session or self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") != self.last:
                self._note(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def run(self, script, session=None):
        """The value of a JavaScript expression, awaited if it is a promise."""
        answer = self.send("Runtime.evaluate", session, expression=script,
                           awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get(
                "description", details["text"]) + f"\nin: {script}")
        return answer["result"].get("value")

    def run_in_frame(self, script):
        """The same in the page's newest frame."""
        return self.run(script, self.frame)

    def wait_in_frame(self, script):
        """Waits until an expression is true in the page's newest frame."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                if self.frame and self.run(f"Boolean({script})", self.frame):
                    return
            except RuntimeError as error:  # it is not there yet
                if time.monotonic() > deadline:
                    raise error
            if time.monotonic() > deadline:
                raise TimeoutError(f"this did not become true: {script}")
            self.run("0")  # reads what has come
            time.sleep(0.05)

    def wait(self, script):
        """Waits until an expression is true."""
        deadline = time.monotonic() + self.timeout
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"this did not become true: {script}")
            time.sleep(0.02)

    def open(self, url):
        self.send("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.frame = None
        self.send("Page.navigate", url=url)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def look(self, width, height=900, dark=False):
        """Sets the size of the window and the colour scheme."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def click(self, selector):
        """Clicks the middle of an element, as a mouse does."""
        place = self.run(f"""(() => {{
            const one = document.querySelector({json.dumps(selector)});
            one.scrollIntoView({{block: 'center', inline: 'center'}});
            const box = one.getBoundingClientRect();
            const x = box.x + box.width / 2, y = box.y + box.height / 2;
            const there = document.elementFromPoint(x, y);
            return {{x, y, hit: Boolean(there) && (one.contains(there) ||
                there.contains(one) || [...(one.labels || [])].includes(there))}};
        }})()""")
        if not place["hit"]:
            raise AssertionError(f"{selector} cannot be clicked")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place["x"],
                      y=place["y"], button="left", clickCount=1)

    def press(self, key, shift=False, control=False):
        """Presses a key."""
        code, text = KEYS[key]
        modifiers = 8 * shift + 2 * control
        common = {"key": key, "code": "Space" if key == " " else key,
                  "windowsVirtualKeyCode": code, "modifiers": modifiers}
        down = {"text": text} if text and not modifiers else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common, **down)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        """Types where the focus is."""
        self.send("Input.insertText", text=text)

    def picture(self, path, whole=False):
        """Writes what the window shows, or the whole page, as a PNG."""
        more = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            more["clip"] = {"x": 0, "y": 0, "width": size["width"],
                            "height": size["height"], "scale": 1}
        data = self.send("Page.captureScreenshot", format="png", **more)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
