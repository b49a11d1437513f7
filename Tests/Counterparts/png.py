"""Writes RGB pictures as PNG files."""

import struct
import zlib


def write_png(path, width, height, stride, pixels):
    """Writes 8-bit RGB `pixels`, whose rows begin every `stride` bytes."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[y * stride : y * stride + width * 3] for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(rows, 1)))
        file.write(chunk(b"IEND", b""))
