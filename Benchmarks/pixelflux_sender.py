"""Captures $DISPLAY with pixelflux 2.2.1 and sends what it encodes as plain UDP, to be counted: SIZE KBPS PORT."""

import signal
import socket
import sys

from pixelflux import CaptureSettings, ScreenCapture

width, height = map(int, sys.argv[1].split("x"))
drain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
drain.connect(("127.0.0.1", int(sys.argv[3])))

settings = CaptureSettings()
settings.use_wayland = False
settings.capture_width, settings.capture_height = width, height
settings.capture_cursor = True
settings.target_fps = 30.0
settings.codec = "vp8"
settings.use_cpu = True
settings.cpu_encode_threading = False
settings.encode_node_index = -1
settings.video_cbr_mode = True
settings.video_bitrate_kbps = int(sys.argv[2])
settings.omit_stripe_headers = True


def send(frame):
    view = memoryview(frame)
    for start in range(0, len(view), 60000):
        try:
            drain.send(view[start : start + 60000])
        except ConnectionRefusedError:
            pass


capture = ScreenCapture()
capture.start_capture(send, settings)
signal.sigwait([signal.SIGTERM, signal.SIGINT])
capture.stop_capture()
