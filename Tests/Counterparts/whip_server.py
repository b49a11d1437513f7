"""A WHIP endpoint (RFC 9725) on libwebrtc, by way of the Python package wrtc. Prints lines of JSON."""

import argparse
import asyncio
import json
import re
import ssl

import webrtc

from recording import Recording, record, with_both_channels


def only(codec, sdp):
    """The offer as if it had no other codec."""
    lines = sdp.split("\r\n")
    kept = [re.match(r"a=rtpmap:(\d+) ", line)[1] for line in lines
            if re.match(rf"a=rtpmap:\d+ {codec}/", line, re.IGNORECASE)]
    kept += [match[1] for match in (re.match(r"a=fmtp:(\d+) apt=(\d+)", line) for line in lines)
             if match and match[2] in kept]
    result = []
    for line in lines:
        attribute = re.match(r"a=(?:rtpmap|fmtp|rtcp-fb):(\d+)", line)
        if attribute and attribute[1] not in kept:
            continue
        if line.startswith("m=video"):
            line = " ".join(line.split(" ")[:3] + kept)
        result.append(line)
    return "\r\n".join(result)


FRAGMENT = "application/trickle-ice-sdpfrag"

# What RFC 9725 and RFC 9110 have a server say with each status that is not 201 or 307.
EXAMPLES = {
    200: ("OK", {"Accept-Post": "application/sdp"}, ""),
    301: ("Moved Permanently", {"Location": "/live/whip"}, ""),
    400: ("Bad Request", {"Content-Type": "text/plain"}, "line 3 is no SDP"),
    401: ("Unauthorized", {"WWW-Authenticate": "Bearer"}, ""),
    403: ("Forbidden", {}, ""),
    404: ("Not Found", {}, ""),
    405: ("Method Not Allowed", {"Allow": "OPTIONS, GET"}, ""),
    406: ("Not Acceptable", {}, ""),
    410: ("Gone", {}, ""),
    415: ("Unsupported Media Type", {"Accept-Post": "application/sdp"}, ""),
    422: ("Unprocessable Content", {"Content-Type": "text/plain"}, "two tracks of video"),
    451: ("Unavailable For Legal Reasons", {"Content-Type": "application/problem+json"},
          '{"title": "Not here", "detail": "the law\\u001b[2J says no"}'),
    499: ("A Status Of Its Own", {}, ""),
    501: ("Not Implemented", {}, ""),
}


def lines(body, name):
    """The values of attributes of a description or fragment."""
    return [line.split(":", 1)[1] for line in body.split("\r\n") if line.startswith(f"a={name}:")]


class Session:
    def __init__(self, connection, offer):
        self.connection, self.offer, self.generation = connection, offer, 1

    @property
    def tag(self):
        return f'"{self.generation}"'

    async def gather(self):
        await self.connection.set_local_description(with_both_channels(await self.connection.create_answer()))
        for _ in range(100):
            if self.connection.ice_gathering_state.value == "complete":
                break
            await asyncio.sleep(0.05)
        return self.connection.local_description.sdp

    async def add(self, fragment):
        for candidate in lines(fragment, "candidate"):
            await self.connection.add_ice_candidate(
                webrtc.RTCIceCandidateInit(candidate=f"candidate:{candidate}", sdp_mid=lines(fragment, "mid")[0]))

    async def restart(self, fragment):
        """The same offer with other credentials and candidates, and what the answer to it says of those."""
        offer = [line for line in self.offer.split("\r\n")
                 if not re.match("a=(candidate|end-of-candidates|ice-ufrag|ice-pwd)", line)]
        fresh = [f"a=ice-ufrag:{lines(fragment, 'ice-ufrag')[0]}", f"a=ice-pwd:{lines(fragment, 'ice-pwd')[0]}"]
        fresh += [f"a=candidate:{candidate}" for candidate in lines(fragment, "candidate")]
        at = next(index for index, line in enumerate(offer) if line.startswith("a=mid:")) + 1
        self.generation += 1
        self.offer = "\r\n".join(offer[:at] + fresh + offer[at:])
        await self.connection.set_remote_description(
            webrtc.RTCSessionDescriptionInit(type="offer", sdp=self.offer))
        answer = await self.gather()
        result = ["a=ice-options:trickle", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 0", "a=mid:0",
                  f"a=ice-ufrag:{lines(answer, 'ice-ufrag')[0]}", f"a=ice-pwd:{lines(answer, 'ice-pwd')[0]}"]
        result += [f"a=candidate:{candidate}" for candidate in lines(answer, "candidate")]
        return "".join(f"{line}\r\n" for line in result + ["a=end-of-candidates"])


class Endpoint:
    def __init__(self, arguments):
        self.arguments = arguments
        self.sessions = {}
        self.posts = self.deleted = self.trickled = self.restarted = 0
        self.candidates = []
        self.refused = []

    async def answer(self, offer):
        connection = webrtc.RTCPeerConnection(webrtc.RTCConfiguration())
        self.candidates = [line.split(" ", 4)[4] for line in offer.split("\r\n") if line.startswith("a=candidate:")]
        if self.arguments.codec:
            offer = only(self.arguments.codec, offer)
        await connection.set_remote_description(webrtc.RTCSessionDescriptionInit(type="offer", sdp=offer))
        for track in (receiver.track for receiver in connection.get_receivers()):
            if track.kind == "audio" and self.arguments.sound:
                self.recording = asyncio.ensure_future(record(track, self.arguments.sound))
        name = f"s{self.posts}"
        self.sessions[name] = session = Session(connection, offer)
        return name, await session.gather()

    async def change(self, session, headers, body):
        """RFC 9725 section 4.3."""
        if "PATCH" in self.arguments.without:
            return "405 Method Not Allowed", {}, ""
        if headers.get("content-type") != FRAGMENT:
            return "415 Unsupported Media Type", {"Accept-Patch": FRAGMENT}, ""
        condition = headers.get("if-match")
        if condition is None:
            return "428 Precondition Required", {}, ""
        if condition in ("*", '"*"'):
            fragment = await session.restart(body)
            self.restarted += 1
            return "200 OK", {"Content-Type": FRAGMENT, "ETag": session.tag}, fragment
        if condition != session.tag:
            return "412 Precondition Failed", {}, ""
        if lines(body, "ice-ufrag") != lines(session.offer, "ice-ufrag"):
            return "400 Bad Request", {}, ""
        await session.add(body)
        self.trickled += 1
        self.candidates = [candidate.split(" ", 4)[4] for candidate in lines(body, "candidate")]
        return "204 No Content", {}, ""

    async def respond(self, method, path, headers, body):
        """Status, headers and body."""
        example = re.fullmatch(r"/status/(\d+)", path)
        if method == "POST" and example:
            reason, fields, text = EXAMPLES[int(example[1])]
            return f"{example[1]} {reason}", fields, text
        token = self.arguments.token
        if self.arguments.token_file:
            with open(self.arguments.token_file) as file:
                token = file.read().strip()
        if token and headers.get("authorization") != f"Bearer {token}":
            self.refused.append(headers.get("authorization"))
            return "401 Unauthorized", {"WWW-Authenticate": "Bearer"}, ""
        if method == "POST" and path == "/moved":
            return "307 Temporary Redirect", {"Location": "live/whip"}, ""
        if method == "POST" and path == "/live/whip":
            self.posts += 1
            if self.posts <= self.arguments.busy:
                return "503 Service Unavailable", {"Retry-After": "1"}, ""
            if self.posts <= self.arguments.busy + self.arguments.faults:
                return "500 Internal Server Error", {"Content-Type": "text/plain"}, "no disk"
            if headers.get("content-type") != "application/sdp":
                return "415 Unsupported Media Type", {}, ""
            name, sdp = await self.answer(body)
            fields = {"Content-Type": "application/sdp"}
            if "location" not in self.arguments.without:
                fields["Location"] = f"sessions/{name}"
            if "tag" not in self.arguments.without:
                fields["ETag"] = self.sessions[name].tag
            if self.arguments.link:
                fields["Link"] = ", ".join(self.arguments.link)
            return "201 Created", fields, sdp
        if method == "DELETE" and path.startswith("/live/sessions/"):
            session = self.sessions.pop(path.rsplit("/", 1)[1], None)
            if not session:
                return "404 Not Found", {}, ""
            session.connection.close()
            self.deleted += 1
            return "200 OK", {}, ""
        if method == "PATCH" and path.rsplit("/", 1)[1] in self.sessions:
            return await self.change(self.sessions[path.rsplit("/", 1)[1]], headers, body)
        if method == "OPTIONS" and path.rsplit("/", 1)[1] in self.sessions:
            return "204 No Content", {"Accept-Post": "application/sdp"}, ""
        return "404 Not Found", {}, ""

    async def serve(self, reader, writer):
        method, path, _ = (await reader.readline()).decode().split(" ")
        headers = {}
        while line := (await reader.readline()).decode().strip():
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        body = (await reader.readexactly(int(headers.get("content-length", 0)))).decode()
        status, fields, text = await self.respond(method, path.split("?")[0], headers, body)
        fields = {**fields, "Content-Length": str(len(text.encode())), "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status}\r\n{head}\r\n{text}".encode())
        await writer.drain()
        writer.close()

    async def report(self):
        while True:
            frames, width, codec = 0, None, None
            for session in list(self.sessions.values()):
                try:
                    stats = await asyncio.wait_for(session.connection.get_stats(), 5)
                except Exception:  # it was closed meanwhile
                    continue
                for entry in stats.values():
                    if entry.type.value == "inbound-rtp" and entry.kind == "video" and entry.frames_decoded:
                        frames, width = entry.frames_decoded, entry.frame_width
                        codec = stats[entry.codec_id].mime_type
            print(json.dumps({"posts": self.posts, "sessions": len(self.sessions), "deleted": self.deleted,
                              "frames": frames, "width": width, "codec": codec, "candidates": self.candidates,
                              "trickled": self.trickled, "restarted": self.restarted, "refused": self.refused}),
                  flush=True)
            await asyncio.sleep(self.arguments.interval)


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--codec")
    parser.add_argument("--token")
    parser.add_argument("--token-file", help="a file with the token, read for each request")
    parser.add_argument("--busy", type=int, default=0, help="how many offers are refused first")
    parser.add_argument("--faults", type=int, default=0, help="how many offers fail after that")
    parser.add_argument("--link", action="append", default=[], help="a relay to name, as Link has it")
    parser.add_argument("--without", action="append", default=[], choices=["PATCH", "tag", "location"])
    parser.add_argument("--sound", metavar="FILE", type=Recording, help="write what is heard")
    parser.add_argument("--interval", type=float, default=0.2, help="seconds from line to line")
    parser.add_argument("--tls", metavar=("CERTIFICATE", "KEY"), nargs=2, help="files, as PEM")
    endpoint = Endpoint(parser.parse_args())
    security = None
    if endpoint.arguments.tls:
        security = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        security.load_cert_chain(*endpoint.arguments.tls)
    await asyncio.start_server(endpoint.serve, None, endpoint.arguments.port, ssl=security)
    await endpoint.report()


asyncio.run(main())
