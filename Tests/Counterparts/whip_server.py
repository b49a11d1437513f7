"""A WHIP endpoint (RFC 9725) on libwebrtc, by way of the Python package wrtc. Prints lines of JSON."""

import argparse
import asyncio
import json
import re

import webrtc


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


class Endpoint:
    def __init__(self, arguments):
        self.arguments = arguments
        self.sessions = {}
        self.posts = self.deleted = 0
        self.candidates = []

    async def answer(self, offer):
        connection = webrtc.RTCPeerConnection(webrtc.RTCConfiguration())
        self.candidates = [line.split(" ", 4)[4] for line in offer.split("\r\n") if line.startswith("a=candidate:")]
        if self.arguments.codec:
            offer = only(self.arguments.codec, offer)
        await connection.set_remote_description(webrtc.RTCSessionDescriptionInit(type="offer", sdp=offer))
        await connection.set_local_description(await connection.create_answer())
        for _ in range(100):
            if connection.ice_gathering_state.value == "complete":
                break
            await asyncio.sleep(0.05)
        name = f"s{self.posts}"
        self.sessions[name] = connection
        return name, connection.local_description.sdp

    async def respond(self, method, path, headers, body):
        """Status, headers and body."""
        if self.arguments.token and headers.get("authorization") != f"Bearer {self.arguments.token}":
            return "401 Unauthorized", {}, ""
        if method == "POST" and path == "/moved":
            return "307 Temporary Redirect", {"Location": "live/whip"}, ""
        if method == "POST" and path == "/live/whip":
            self.posts += 1
            if self.posts <= self.arguments.busy:
                return "503 Service Unavailable", {"Retry-After": "1"}, ""
            if headers.get("content-type") != "application/sdp":
                return "415 Unsupported Media Type", {}, ""
            name, sdp = await self.answer(body)
            fields = {"Content-Type": "application/sdp", "Location": f"sessions/{name}", "ETag": '"1"'}
            return "201 Created", fields, sdp
        if method == "DELETE" and path.startswith("/live/sessions/"):
            connection = self.sessions.pop(path.rsplit("/", 1)[1], None)
            if not connection:
                return "404 Not Found", {}, ""
            connection.close()
            self.deleted += 1
            return "200 OK", {}, ""
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
        status, fields, text = await self.respond(method, path, headers, body)
        fields = {**fields, "Content-Length": str(len(text.encode())), "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status}\r\n{head}\r\n{text}".encode())
        await writer.drain()
        writer.close()

    async def report(self):
        while True:
            frames, width, codec = 0, None, None
            for connection in list(self.sessions.values()):
                stats = await connection.get_stats()
                for entry in stats.values():
                    if entry.type.value == "inbound-rtp" and entry.kind == "video" and entry.frames_decoded:
                        frames, width = entry.frames_decoded, entry.frame_width
                        codec = stats[entry.codec_id].mime_type
            print(json.dumps({"posts": self.posts, "sessions": len(self.sessions), "deleted": self.deleted,
                              "frames": frames, "width": width, "codec": codec, "candidates": self.candidates}),
                  flush=True)
            await asyncio.sleep(self.arguments.interval)


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--codec")
    parser.add_argument("--token")
    parser.add_argument("--busy", type=int, default=0, help="how many offers are refused first")
    parser.add_argument("--interval", type=float, default=0.2, help="seconds from line to line")
    endpoint = Endpoint(parser.parse_args())
    await asyncio.start_server(endpoint.serve, None, endpoint.arguments.port)
    await endpoint.report()


asyncio.run(main())
