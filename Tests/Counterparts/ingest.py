"""A receiver of segments (DASH-IF Live Media Ingest 1.2, Interface 1): keeps what is put, and wants the header of a track before its segments.

Usage: ingest.py PORT FOLDER [--token TOKEN] [--redirect ADDRESS]
Without --token, a request that brings one is refused.
"""
import argparse
import http.server
import os

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("folder")
parser.add_argument("--token")
parser.add_argument("--redirect")
options = parser.parse_args()
tracks = set()


class Ingest(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, *headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != (f"Bearer {options.token}" if options.token else None):
            return self.answer(401)
        if options.redirect:
            return self.answer(307, ("Location", options.redirect + self.path))
        track, name = os.path.split(self.path.strip("/"))
        if name == "init.mp4":
            tracks.add(track)
        status = 201 if track in tracks or name.endswith(".mpd") else 412
        if status == 201:
            os.makedirs(os.path.join(options.folder, track), exist_ok=True)
            path = os.path.join(options.folder, track, name)
            with open(path + ".new", "wb") as file:
                file.write(body)
            os.rename(path + ".new", path)
        self.answer(status)


http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Ingest).serve_forever()
