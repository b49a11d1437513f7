"""A receiver of segments (DASH-IF Live Media Ingest 1.2, Interface 1): keeps what is put, and wants the header of a track before its segments.

Usage: ingest.py PORT FOLDER
"""
import http.server
import os
import sys

port, folder = int(sys.argv[1]), sys.argv[2]
tracks = set()


class Ingest(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        track, name = os.path.split(self.path.strip("/"))
        if name == "init.mp4":
            tracks.add(track)
        status = 201 if track in tracks or name.endswith(".mpd") else 412
        if status == 201:
            os.makedirs(os.path.join(folder, track), exist_ok=True)
            path = os.path.join(folder, track, name)
            with open(path + ".new", "wb") as file:
                file.write(body)
            os.rename(path + ".new", path)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


http.server.ThreadingHTTPServer(("127.0.0.1", port), Ingest).serve_forever()
