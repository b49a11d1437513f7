"""What the WHEP viewers have in common: arguments, the HTTP exchange (draft-ietf-wish-whep), and the report.

A viewer brings a class that is made from the arguments and has these coroutines:
    offer() -> the SDP of a recvonly offer, candidates included; with arguments.sound also for sound, which goes to that Recording,
        and with arguments.talk for sound both ways, of which it sends a tone of so many Hz
    accept(answer) takes the SDP of the answer
    progress() -> (state of the connection, frames decoded so far)
    details() -> what the report tells besides: size, cipher, candidates
    close()
The report is one JSON object on standard output; the exit code is 0 if the viewer got connected and nothing failed.
"""

import argparse
import asyncio
import json
import re
import secrets
import signal
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from recording import Recording


def run(make_viewer, description, relay=False, png=False, sound=False, talk=False):
    """Plays what the command line asks for, prints the report and exits."""
    arguments = parse_arguments(description, relay, png, sound, talk)
    report = {
        "connected": False, "frames": 0, "width": None, "height": None, "codec": None, "state": "new", "srtp": None,
        "dtls": None, "setup_answer": None, "pair": None, "status": None, "etag": None, "links": [], "deleted": None,
        "talk": None, "error": None,
    }  # fmt: skip
    try:
        asyncio.run(play(make_viewer(arguments), arguments, report))
    except Exception as error:
        report["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(report), flush=True)
    sys.exit(0 if report["connected"] and not report["error"] else 1)


def parse_arguments(description, relay, png, sound, talk):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("url", help="where to POST the offer")
    parser.add_argument("--token", help="bearer token")
    parser.add_argument("--codec", choices=["VP8", "VP9", "AV1"], help="offer no other codec")
    parser.add_argument("--seconds", type=float, default=10, help="stop so long after the answer (10)")
    parser.add_argument("--frames", type=int, help="stop after so many frames")
    parser.add_argument("--setup", choices=["actpass", "active", "passive"], help="the DTLS role that is offered")
    parser.add_argument("--no-candidates", action="store_true", help="send the offer without candidates")
    parser.add_argument("--name", help="the viewer's name, as Oriel's page tells it")
    parser.add_argument("--note", default="", help="beside the name")
    if relay:
        parser.add_argument("--turn", metavar="HOST:PORT", help="TURN server, over UDP")
        parser.add_argument("--turn-user")
        parser.add_argument("--turn-password")
        parser.add_argument("--relay-only", action="store_true", help="use no candidates but those of the TURN server")
    if sound:
        parser.add_argument("--sound", metavar="FILE", type=Recording, help="receive sound too, and write what is heard")
        parser.add_argument("--heard", type=float, default=4, help="do not stop before so many seconds are heard (4)")
    if talk:
        parser.add_argument("--talk", metavar="HZ", type=float, help="send sound too: a tone")
        parser.add_argument("--ask", action="store_true", help="ask to speak")
        parser.add_argument("--badly", action="store_true", help="send packets that are none, a thousand a second")
    if png:
        parser.add_argument("--png", metavar="FILE", help="write the last picture in the colours that this stack gives it")
    return parser.parse_args()


async def play(viewer, arguments, report):
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    resource = None
    try:
        offer = edited(await viewer.offer(), arguments)
        resource = await asyncio.to_thread(Resource, arguments, offer, report)
        report["codec"], report["setup_answer"] = codec(resource.answer), setup(resource.answer)
        await viewer.accept(resource.answer)
        if getattr(arguments, "ask", False):
            report["talk"] = await asyncio.to_thread(resource.ask)
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end and not stopped.is_set():
            report["state"], report["frames"] = await viewer.progress()
            report["connected"] |= report["state"] == "connected"
            if report["state"] in ("failed", "closed"):
                break
            sound = getattr(arguments, "sound", None)
            is_heard = not sound or sound.seconds >= arguments.heard
            if arguments.frames and report["frames"] >= arguments.frames and is_heard:
                break
            await asyncio.sleep(0.05)
        report.update(await viewer.details())
    finally:
        if resource:
            report["deleted"] = await asyncio.to_thread(resource.delete)
        await viewer.close()


class Resource:
    """A WHEP session on the server."""

    def __init__(self, arguments, offer, report):
        url = arguments.url
        self.authorization = {"Authorization": f"Bearer {arguments.token}"} if arguments.token else {}
        headers = {"Content-Type": "application/sdp", "Accept": "application/sdp"}
        if arguments.name:
            headers |= {"Oriel-Name": urllib.parse.quote(arguments.name), "Oriel-Note": urllib.parse.quote(arguments.note),
                        "Oriel-Viewer": secrets.token_urlsafe(32)}
        report["status"], headers, body = self.request("POST", url, headers, offer.encode())
        if report["status"] != 201:
            raise RuntimeError(f"POST was answered with {report['status']}: {body.strip()}")
        self.answer = body
        self.location = urllib.parse.urljoin(url, headers["Location"])
        report["etag"], report["links"] = headers["ETag"], headers.get_all("Link", [])

    def delete(self):
        """Ends the session and tells the status."""
        return self.request("DELETE", self.location, {})[0]

    def ask(self):
        """Asks to speak, and tells the status and what the server says of it."""
        status, _, body = self.request("POST", self.location + "/talk", {}, b"")
        return [status, json.loads(body)["talk"] if status in (200, 202) else body.strip()]

    def request(self, method, url, headers, body=None):
        request = urllib.request.Request(url, body, {**self.authorization, **headers}, method=method)
        # A viewer that has seen the fingerprint trusts the sender's own certificate.
        trusting = urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trusting)
        try:
            with opener.open(request, timeout=60) as response:
                return response.status, response.headers, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode(errors="replace")


def edited(offer, arguments):
    """The offer as it is sent: a stack may be made to offer what it does not offer by itself."""
    lines = offer.splitlines()
    if arguments.codec:
        lines = with_only(lines, arguments.codec)
    if arguments.no_candidates:
        lines = [line for line in lines if not line.startswith("a=candidate:")]
    if arguments.setup:
        lines = ["a=setup:" + arguments.setup if line.startswith("a=setup:") else line for line in lines]
    return "".join(line + "\r\n" for line in lines)


def with_only(lines, name):
    """Keeps the payload types of one codec and their retransmission."""
    text = "\n".join(lines)
    kept = set(re.findall(rf"^a=rtpmap:(\d+) {name}/", text, re.M))
    if not kept:
        raise ValueError(f"this stack does not offer {name}")
    kept |= {rtx for rtx, apt in re.findall(r"^a=fmtp:(\d+) apt=(\d+)", text, re.M) if apt in kept}
    result = []
    for line in lines:
        if line.startswith("m=video "):
            words = line.split()
            line = " ".join(words[:3] + [word for word in words[3:] if word in kept])
        attribute = re.match(r"a=(?:rtpmap|fmtp|rtcp-fb):(\d+)", line)
        if not attribute or attribute[1] in kept:
            result.append(line)
    return result


def codec(sdp):
    """The name of the first codec of the video section."""
    payload_type = re.search(r"^m=video \S+ \S+ (\d+)", sdp, re.M)
    name = payload_type and re.search(rf"^a=rtpmap:{payload_type[1]} ([^/]+)/", sdp, re.M)
    return name[1] if name else None


def setup(sdp):
    value = re.search(r"^a=setup:(\w+)", sdp, re.M)
    return value[1] if value else None


def protection_profile(name):
    """The registered name of an SRTP protection profile, whatever the stack calls it."""
    for pattern, profile in (
        ("AES_?128.*SHA1_80|AES_CM_128.*SHA1_80", "SRTP_AES128_CM_HMAC_SHA1_80"),
        ("AES_?128.*SHA1_32|AES_CM_128.*SHA1_32", "SRTP_AES128_CM_HMAC_SHA1_32"),
        ("AES_128_GCM", "SRTP_AEAD_AES_128_GCM"),
        ("AES_256_GCM", "SRTP_AEAD_AES_256_GCM"),
    ):
        if name and re.search(pattern, name):
            return profile
    return name
