#!/usr/bin/python3
"""Drives a browser without a window by lines of JSON: Debian's Chromium over the DevTools protocol, or Firefox over
WebDriver BiDi.

It prints {"ready": true, "version": ...}, then answers each command on standard input with one line, {"value": ...} or
{"error": ...}:
    {"do": "open", "url": ...}                      waits until the page is loaded
    {"do": "evaluate", "script": ..., "timeout": 60} an expression, in which await works; its value must fit into JSON
    {"do": "activate"}                              as if somebody had clicked, for what pages may do only then; Chromium
    {"do": "screenshot", "path": ...}               writes a PNG of the viewport
    {"do": "size", "width": ..., "height": ...}     sizes the viewport
    {"do": "begin"}                                 a page in a context of its own, of which the browser knows nothing yet
    {"do": "rest"}                                  throws that page away, with all that the browser has kept for it
    {"do": "quit"}
At the end of input, after quit and on SIGTERM nothing of the browser is left, neither processes nor profile.
"""

import argparse
import asyncio
import base64
import ctypes
import glob
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

START_TIMEOUT = 60
COMMAND_TIMEOUT = 60
PR_SET_CHILD_SUBREAPER = 36

CHROMIUM_ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--mute-audio", "--no-first-run",
    "--autoplay-policy=no-user-gesture-required", "--no-proxy-server", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync",
    "--disable-breakpad", "--disable-renderer-backgrounding", "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows", "--password-store=basic",
]  # fmt: skip

FIREFOX_PREFERENCES = {
    "remote.active-protocols": 1,
    "permissions.isolateBy.userContext": True,
    "media.autoplay.default": 0,
    "media.autoplay.blocking_policy": 0,
    "media.gmp-manager.url": "",
    "media.gmp-manager.updateEnabled": False,
    "network.proxy.type": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "services.settings.server": "data:,",
    "app.update.auto": False,
    "app.normandy.enabled": False,
    "extensions.update.enabled": False,
    "dom.push.connection.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    # A start takes a fifth less of the processor without processes and pages that no test looks at.
    "browser.newtab.preload": False,
    "browser.startup.page": 0,
    "dom.ipc.processCount": 1,
    "dom.ipc.processPrelaunch.enabled": False,
    "extensions.webextensions.remote": False,
}


class BrowserError(Exception):
    pass


class Browser:
    """What both browsers share: a directory of their own, a process, and a WebSocket for numbered requests."""

    number = 0

    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = directory
        self.log = os.path.join(directory, "log")
        self.loop = asyncio.new_event_loop()

    def spawn(self, command, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**kept, "HOME": self.directory, "TMPDIR": self.directory, **environment},
            )  # fmt: skip

    def run(self, work, timeout):
        try:
            return self.loop.run_until_complete(asyncio.wait_for(work, timeout))
        except asyncio.TimeoutError:
            raise BrowserError("timeout") from None

    async def connect(self, address):
        import websockets

        self.socket = await websockets.connect(address, max_size=None, ping_interval=None, open_timeout=START_TIMEOUT)

    async def exchange(self, request):
        """The answer to a request: all that it has but its number."""
        self.number += 1
        number = self.number
        await self.socket.send(json.dumps({"id": number, **request}))
        while (message := json.loads(await self.socket.recv())).get("id") != number:
            self.hear(message)
        return message

    def hear(self, event):
        pass

    def wake(self):
        pass

    def close(self):
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks))
        self.loop.close()

    def wait_for(self, path, pattern):
        """Waits until the file has the pattern, and returns the match."""
        end = time.monotonic() + START_TIMEOUT
        while time.monotonic() < end and self.process.poll() is None:
            if os.path.exists(path):
                with open(path, errors="replace") as file:
                    if match := re.search(pattern, file.read()):
                        return match
            time.sleep(0.05)
        with open(self.log, errors="replace") as log:
            raise BrowserError("the browser did not start: " + log.read()[-500:])


class Chromium(Browser):
    """Chromium, which chromedriver only starts: its own WebSocket (https://chromedevtools.github.io/devtools-protocol/)."""

    session = None

    def start(self):
        self.spawn(["/usr/bin/chromedriver", "--port=0"])
        driver = int(self.wait_for(self.log, r"started successfully on port (\d+)")[1])
        # The profile is left to chromedriver, which makes it in TMPDIR: with one of ours the first page waits long.
        shown = CHROMIUM_ARGUMENTS[1:] if self.arguments.window else CHROMIUM_ARGUMENTS
        if self.arguments.sound:
            shown = [argument for argument in shown if argument != "--mute-audio"] + ["--use-fake-ui-for-media-stream"]
        options = {
            "binary": "/usr/bin/chromium",
            "args": [*shown, *self.arguments.arg],
            "prefs": dict(self.arguments.pref),
        }
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        answer = request(driver, "POST", "/session", json.dumps(wanted))["value"]
        if "capabilities" not in answer:
            raise BrowserError(answer["message"].splitlines()[0])
        found = answer["capabilities"]
        port = int(found["goog:chromeOptions"]["debuggerAddress"].rpartition(":")[2])
        address = request(port, "GET", "/json/version")["webSocketDebuggerUrl"]
        self.run(self.connect(address), START_TIMEOUT)
        targets = self.send("Target.getTargets")["targetInfos"]
        self.attach(next(target["targetId"] for target in targets if target["type"] == "page"))
        return found["browserVersion"]

    def begin(self):
        self.user = self.send("Target.createBrowserContext")["browserContextId"]
        self.attach(self.send("Target.createTarget", url="about:blank", browserContextId=self.user)["targetId"])

    def rest(self):
        self.send("Target.disposeBrowserContext", browserContextId=self.user)
        self.session = None

    def attach(self, target):
        """Speaks with a page from now on, whose main frame has its name."""
        self.frame = target
        self.is_loading = False
        self.loaded = set()
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.tell("Page.enable")
        self.tell("Page.setLifecycleEventsEnabled", enabled=True)

    def send(self, method, timeout=COMMAND_TIMEOUT, session=None, **parameters):
        """Asks the browser itself, or a page."""
        whom = {"sessionId": session} if session else {}
        reply = self.run(self.exchange({"method": method, "params": parameters, **whom}), timeout)
        if "error" in reply:
            raise BrowserError(reply["error"]["message"])
        return reply["result"]

    def tell(self, method, timeout=COMMAND_TIMEOUT, **parameters):
        return self.send(method, timeout, self.session, **parameters)

    def hear(self, event):
        parameters = event.get("params", {})
        if event.get("sessionId") != self.session or parameters.get("frameId") != self.frame:
            return
        match event["method"], parameters.get("name"):
            case "Page.frameStartedLoading", _:
                self.is_loading = True
            case "Page.frameStoppedLoading", _:
                self.is_loading = False
            case "Page.lifecycleEvent", "load":
                self.loaded.add(parameters["loaderId"])

    async def listen(self, is_done):
        while not is_done():
            self.hear(json.loads(await self.socket.recv()))

    def open(self, url):
        self.loaded.clear()
        reply = self.tell("Page.navigate", url=url)
        if "errorText" in reply:
            raise BrowserError(reply["errorText"])
        if loader := reply.get("loaderId"):  # none within a document
            self.run(self.listen(lambda: loader in self.loaded), COMMAND_TIMEOUT)

    def evaluate(self, script, timeout):
        self.settle()
        wrapped = f"(async () => (\n{script}\n))().then(value => JSON.stringify(value))"
        reply = self.tell("Runtime.evaluate", timeout, expression=wrapped, awaitPromise=True, returnByValue=True)
        if failure := reply.get("exceptionDetails"):
            thrown = failure.get("exception", {})
            text = thrown.get("description") or thrown.get("value") or failure["text"]
            raise BrowserError(str(text).partition("\n")[0])
        return json.loads(reply["result"].get("value") or "null")

    def settle(self):
        """Waits until a page is loaded that the one before has led to."""
        try:
            self.loop.run_until_complete(asyncio.wait_for(self.listen(lambda: False), 0.001))
        except asyncio.TimeoutError:
            self.run(self.listen(lambda: not self.is_loading), COMMAND_TIMEOUT)

    def activate(self):
        self.tell("Runtime.evaluate", expression="0", userGesture=True)

    def screenshot(self):
        return self.tell("Page.captureScreenshot")["data"]

    def size(self, width, height):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)


def request(port, method, path, body=None):
    """Asks a server of this machine for JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_TIMEOUT)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


class Firefox(Browser):
    """Firefox, by its own WebSocket (https://www.w3.org/TR/webdriver-bidi/)."""

    sleep = None

    def start(self):
        profile = os.path.join(self.directory, "profile")
        os.mkdir(profile)
        with open(os.path.join(profile, "user.js"), "w") as file:
            sound = {"media.navigator.permission.disabled": True, "media.cubeb.backend": "pulse-rust"}
            own = {**FIREFOX_PREFERENCES, **(sound if self.arguments.sound else {})}
            for name, value in {**own, **dict(self.arguments.pref)}.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        command = ["/usr/bin/firefox-esr", "--headless", "--no-remote", "--profile", profile]
        self.spawn([*command, "--remote-debugging-port", "0", *self.arguments.arg], MOZ_CRASHREPORTER_DISABLE="1")
        address = self.wait_for(os.path.join(profile, "WebDriverBiDiServer.json"), r'"ws_port":\s*(\d+)')
        self.run(self.connect(f"ws://127.0.0.1:{address[1]}/session"), START_TIMEOUT)
        session = self.send("session.new", capabilities={})
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]
        return session["capabilities"]["browserVersion"]

    def begin(self):
        self.wake()
        self.user = self.send("browser.createUserContext")["userContext"]
        self.context = self.send("browsingContext.create", type="tab", userContext=self.user)["context"]

    def rest(self):
        """Stops the browser a second later, when connections are closed: it would take a twentieth of a processor."""
        self.send("browser.removeUserContext", userContext=self.user)
        self.sleep = threading.Timer(1, os.killpg, (self.process.pid, signal.SIGSTOP))
        self.sleep.daemon = True
        self.sleep.start()

    def wake(self):
        if self.sleep:
            self.sleep.cancel()
            self.sleep.join()
            os.killpg(self.process.pid, signal.SIGCONT)
            self.sleep = None

    def send(self, method, timeout=COMMAND_TIMEOUT, **parameters):
        reply = self.run(self.exchange({"method": method, "params": parameters}), timeout)
        if reply["type"] == "error":
            raise BrowserError(reply["message"])
        return reply["result"]

    def open(self, url):
        self.send("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def evaluate(self, script, timeout):
        wrapped = f"(async () => (\n{script}\n))().then(value => JSON.stringify(value))"
        target = {"context": self.context}
        reply = self.send(
            "script.evaluate", timeout, expression=wrapped, target=target, awaitPromise=True, userActivation=True
        )
        if reply["type"] == "exception":
            raise BrowserError(reply["exceptionDetails"]["text"])
        return json.loads(reply["result"].get("value") or "null")

    def screenshot(self):
        return self.send("browsingContext.captureScreenshot", context=self.context)["data"]

    def size(self, width, height):
        viewport = {"width": width, "height": height}
        self.send("browsingContext.setViewport", context=self.context, viewport=viewport)


def serve(browser):
    """Answers commands until there are no more."""
    for line in sys.stdin:
        try:
            command = json.loads(line)
            if command["do"] == "quit":
                say(value=None)
                return
            say(value=perform(browser, command))
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}")


def perform(browser, command):
    match command["do"]:
        case "open":
            return browser.open(command["url"])
        case "evaluate":
            return browser.evaluate(command["script"], command.get("timeout", COMMAND_TIMEOUT))
        case "activate":
            browser.activate()
        case "screenshot":
            with open(command["path"], "wb") as file:
                file.write(base64.b64decode(browser.screenshot()))
        case "size":
            browser.size(int(command["width"]), int(command["height"]))
        case "begin":
            browser.begin()
            browser.size(*browser.arguments.size)
        case "rest":
            browser.rest()
        case other:
            raise BrowserError(f"there is no command {other}")


def say(**line):
    print(json.dumps(line), flush=True)


def parse_arguments():
    def preference(text):
        name, _, value = text.partition("=")
        try:
            return name, json.loads(value)
        except ValueError:
            return name, value

    def size(text):
        width, height = text.split("x")
        return int(width), int(height)

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("browser", choices=["chromium", "firefox"])
    parser.add_argument("--arg", action="append", default=[], help="argument for the browser; write --arg=--flag")
    parser.add_argument("--pref", action="append", default=[], type=preference, metavar="NAME=VALUE")
    parser.add_argument("--sound", action="store_true", help="hear and be heard by the server of PULSE_SERVER, unasked")
    parser.add_argument("--window", action="store_true", help="show Chromium on DISPLAY")
    parser.add_argument("--size", type=size, default=(1280, 720), metavar="WxH", help="of the viewport (1280x720)")
    return parser.parse_args()


def end_children():
    """Ends the processes of the browser: those that lose their parents become children of this one."""
    begin = time.monotonic()
    told = set()
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for child in children():
            if time.monotonic() - begin > 5:
                os.kill(child, signal.SIGKILL)
            elif child not in told:
                os.kill(child, signal.SIGTERM)
                told.add(child)
        time.sleep(0.02)


def children():
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                parent = file.read().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == os.getpid():
            yield int(path.split("/")[2])


def stop(*_):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


def main():
    arguments = parse_arguments()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    directory = tempfile.mkdtemp(prefix="browser.")
    browser = {"chromium": Chromium, "firefox": Firefox}[arguments.browser](arguments, directory)
    try:
        try:
            version = browser.start()
            if not arguments.window:
                browser.size(*arguments.size)
        except Exception as error:
            say(ready=False, error=f"{type(error).__name__}: {error}")
            sys.exit(1)
        say(ready=True, version=version)
        serve(browser)
    finally:
        browser.wake()
        end_children()
        browser.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
