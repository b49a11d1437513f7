#!/usr/bin/env python3
"""Write the latest whole frame of a live Oriel broadcast as a PNG picture.

Written from the format document (Format.md) alone, to show that it suffices: nothing here comes from Oriel's sources.
"""
from __future__ import annotations

import argparse
import fcntl
import math
import os
import re
import socket
import stat
import struct
import sys
import tempfile
import time
import zlib
from typing import BinaryIO, Iterator, NamedTuple, NoReturn, Optional, Tuple

FAILED, USAGE, NO_PICTURE = 1, 64, 75
PAGE, SLOTS = 4096, 3
ACTIVE, RETIRED = 2, 6
F_OFD_GETLK, F_OFD_SETLK = 36, 37
F_GET_SEALS, ALL_SEALS = 1034, 0x01 | 0x02 | 0x04 | 0x10
FLOCK = struct.Struct("hhqqi4x")
HEADER = struct.Struct("<8sIHHIIQQQQII")
METADATA = struct.Struct("<QQQQ6I4s4B4i16x4I8xI4x")
FRESH_FRAME_NS = 300_000_000
POLL_SECONDS = 0.005
LARGEST_SLOT = 1 << 30  # the document sets no limit, but a damaged header must not eat all memory
BROKEN = "restart the broadcast"


class NotYet(Exception):
    """There is no picture now; there may be one later."""


class Refused(Exception):
    """What is there is damaged, or must not be trusted."""


class Picture(NamedTuple):
    number: int
    captured_ns: int
    width: int
    height: int
    strides: Tuple[int, int]
    offsets: Tuple[int, int]
    slot: bytes


def require(condition: bool, what: str, remedy: str = BROKEN) -> None:
    if not condition:
        raise Refused(f"{what}; {remedy}")


def crc32c_entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC32C = [crc32c_entry(value) for value in range(256)]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def require_private(info: os.stat_result, what: str) -> None:
    require(info.st_uid == os.geteuid(), f"{what} belongs to somebody else", "use a folder of your own")
    require(not info.st_mode & 0o077, f"{what} is open to group or others", "take their rights away (chmod go=)")


def stat_entry(folder: int, name: str) -> os.stat_result:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise NotYet(f"there is no {name}") from None


def open_private(folder: int, name: str) -> BinaryIO:
    require(stat.S_ISREG(stat_entry(folder, name).st_mode), f"{name} is not a regular file", "remove it")
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise NotYet(f"there is no {name}") from None
    file = open(fd, "rb", buffering=0)
    info = os.fstat(fd)
    require(stat.S_ISREG(info.st_mode), f"{name} is not a regular file", "remove it")
    require_private(info, name)
    return file


def receive_sealed_memory(folder: int, name: str) -> BinaryIO:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", theirs.fileno()))]
        try:
            sender.sendmsg([b"?"], rights, 0, f"/proc/self/fd/{folder}/{name}")
            theirs.close()
            ours.settimeout(0.1)
            _, ancillary, _, _ = ours.recvmsg(64, socket.CMSG_SPACE(16), socket.MSG_CMSG_CLOEXEC)
        except (ConnectionError, FileNotFoundError):
            raise NotYet("the writer is gone, and its frames with it") from None
        except (BlockingIOError, socket.timeout):
            raise NotYet("the writer does not hand out its frames") from None
    files = [open(fd, "rb", buffering=0) for _, kind, data in ancillary if kind == socket.SCM_RIGHTS
             for fd, in struct.iter_unpack("i", data[:len(data) // 4 * 4])]
    require(len(files) == 1, "the writer answered without its frames")
    try:
        seals = fcntl.fcntl(files[0], F_GET_SEALS)
    except OSError:
        seals = 0
    require(seals & ALL_SEALS == ALL_SEALS, "the memory of the frames is not sealed")
    return files[0]


class Frames:
    """The frames of one generation."""

    def __init__(self, folder: int, generation: int) -> None:
        self.folder, self.generation, self.name = folder, generation, f"frames.{generation:016x}"
        self.last_read = 0
        info = stat_entry(folder, self.name)
        if stat.S_ISSOCK(info.st_mode):
            require_private(info, self.name)
            self.file = receive_sealed_memory(folder, self.name)
        else:
            self.file = open_private(folder, self.name)
        self.first_slot, self.stride = self.check_header()

    def pread(self, size: int, offset: int) -> bytes:
        data = os.pread(self.file.fileno(), size, offset)
        require(len(data) == size, f"{self.name} is shorter than it says")
        return data

    def number_at(self, offset: int, size: int = 8) -> int:
        return int.from_bytes(self.pread(size, offset), "little")

    def state(self) -> int:
        return self.number_at(80, 4)

    def is_over(self) -> bool:
        try:
            stat_entry(self.folder, self.name)
        except NotYet:
            return True
        return self.state() == RETIRED

    def check_header(self) -> Tuple[int, int]:
        size = os.fstat(self.file.fileno()).st_size
        require(size >= PAGE, f"{self.name} is too short for a header")
        header = self.pread(HEADER.size, 0)
        magic, order, major, minor, _, slots, generation, total, stride, first, _, crc = HEADER.unpack(header)
        damaged = f"{self.name} is damaged: wrong "
        require(magic == b"ORIELFV1", damaged + "magic")
        require(order == 0x01020304, damaged + "byte order")
        require(crc == crc32c(header[:60]), damaged + "checksum of the header")
        require(major == 2, f"{self.name} has format {major}.{minor}", "use the same version of Oriel on both sides")
        require(slots == SLOTS, damaged + "number of slots")
        require(generation == self.generation, damaged + "generation")
        require(total <= size, damaged + "size")
        require(stride % PAGE == 0 and PAGE <= stride <= LARGEST_SLOT, damaged + "slot stride")
        require(first % PAGE == 0 and first >= PAGE, damaged + "offset of the slots")
        require(first + SLOTS * stride <= total, damaged + "end of the slots")
        return first, stride

    def read(self) -> Tuple[Optional[Picture], bool]:
        """The newest picture, if it is a new one; and whether the writer was too fast for us."""
        for _ in range(4):
            latest = self.number_at(64)
            if latest in (0, self.last_read):
                return None, False
            number, index = divmod(latest, 256)
            require(index < SLOTS, f"{self.name} is damaged: wrong slot number")
            start = self.first_slot + index * self.stride
            sequence = self.number_at(start)
            if sequence % 2 == 0:
                slot = self.pread(self.stride, start)
                if self.number_at(start) == sequence:
                    picture = self.check_slot(slot)
                    if picture.number == number:
                        self.last_read = latest
                        # In this order: the writer advances the heartbeat before the horizon.
                        horizon, heartbeat = self.number_at(96), self.number_at(72)
                        # A pause came meanwhile: the picture that stands for it follows.
                        hidden = picture.captured_ns < horizon <= heartbeat
                        return None if hidden else picture, False
        return None, True

    def check_slot(self, slot: bytes) -> Picture:
        (_, number, captured_ns, _, width, height, luma_stride, chroma_stride, luma, chroma, pixel_format,
         matrix, value_range, stand, _, *_, tile, across, down, tiles, crc) = METADATA.unpack_from(slot)
        damaged = f"a slot of {self.name} is damaged: wrong "
        require(crc == crc32c(slot[8:120]), damaged + "checksum")
        require(number > 0, damaged + "frame number")
        require(all(side % 2 == 0 and 2 <= side <= 16384 for side in (width, height)), damaged + "size")
        require((pixel_format, matrix, value_range) == (b"NV12", 6, 0) and stand < 8, damaged + "kind of pixels")
        require(min(luma_stride, chroma_stride) >= width, damaged + "row length")
        require((tile, across, down) == (64, (width + 63) // 64, (height + 63) // 64), damaged + "tiles")
        require(min(luma, chroma, tiles) >= PAGE and tiles % 4 == 0, damaged + "offsets")
        ends = luma + luma_stride * height, chroma + chroma_stride * height // 2, tiles + 4 * across * down
        require(max(ends) <= self.stride, damaged + "end of the planes")
        return Picture(number, captured_ns, width, height, (luma_stride, chroma_stride), (luma, chroma), slot)


class Reader:
    """Follows a broadcast from generation to generation."""

    def __init__(self, path: str) -> None:
        self.path, self.folder, self.locked_ns = path, -1, 0
        self.lock: Optional[BinaryIO] = None
        self.frames: Optional[Frames] = None
        self.refused_generation = 0
        self.read_frames = self.overruns = self.generations = 0

    def attach(self) -> None:
        if self.folder < 0:
            try:
                self.folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise NotYet("there is no such folder") from None
            require_private(os.fstat(self.folder), "the folder")
        lock = open_private(self.folder, "reader.lock")
        fcntl.fcntl(lock, F_OFD_SETLK, FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
        self.lock, self.locked_ns = lock, now_ns()
        os.fchmod(lock.fileno(), 0o600)

    def newest_generation(self) -> int:
        with open_private(self.folder, "status") as file:
            text = os.pread(file.fileno(), 1025, 0)
        lines = text.decode("utf-8", "replace").split("\n")
        status = dict(line.split("=", 1) for line in lines if "=" in line)
        if len(text) > 1024 or not status.keys() >= {"state", "gen", "pid", "started_ns"}:
            raise NotYet("its status is incomplete")
        if not re.fullmatch("[0-9a-f]{1,16}", status["gen"]):
            raise NotYet("its status names no generation")
        if status["gen"] == "0":
            raise NotYet(f"it is {status['state']}")
        return int(status["gen"], 16)

    def writer_lives(self) -> bool:
        with open_private(self.folder, "writer.lock") as file:
            answer = fcntl.fcntl(file, F_OFD_GETLK, FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        return FLOCK.unpack(answer)[0] != fcntl.F_UNLCK

    def newest_frames(self) -> Frames:
        generation = self.newest_generation()
        if generation == self.refused_generation or self.frames and generation == self.frames.generation:
            raise NotYet("there are no newer frames")
        try:
            frames = Frames(self.folder, generation)
        except Refused:
            self.refused_generation = generation
            raise
        self.generations += 1
        return frames

    def poll(self) -> Optional[Picture]:
        if self.lock is None:
            self.attach()
        try:
            if self.frames is None or self.frames.is_over():
                self.frames = self.newest_frames()
            picture, overrun = self.frames.read()
        except Refused:
            if self.frames:
                self.refused_generation, self.frames = self.frames.generation, None
            raise
        self.overruns += overrun
        self.read_frames += picture is not None
        return picture

    def may_get_fresher(self, picture: Picture) -> bool:
        """Whether the writer may have slept until we came, and may be about to look at the screen again."""
        return (picture.captured_ns < self.locked_ns and now_ns() - self.locked_ns < FRESH_FRAME_NS
                and self.frames is not None and self.frames.state() == ACTIVE and self.writer_lives())


def first_picture(reader: Reader, wait: float) -> Picture:
    end = time.monotonic() + wait
    picture, reason = None, "it has no frame"
    while True:
        try:
            picture = reader.poll() or picture
        except NotYet as why:
            reason = str(why)
        if picture and not reader.may_get_fresher(picture):
            return picture
        if picture is None and time.monotonic() >= end:
            raise NotYet(reason)
        time.sleep(POLL_SECONDS)


def follow(reader: Reader, picture: Picture, seconds: float) -> Tuple[Picture, Optional[Refused]]:
    end, refused = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            newer = reader.poll()
            if newer:  # a writer may mend damage with a new generation
                picture, refused = newer, None
        except NotYet:
            pass
        except Refused as why:
            refused = why
        time.sleep(POLL_SECONDS)
    return picture, refused


def rgb_rows(picture: Picture) -> Iterator[bytes]:
    """Rows of a PNG: a byte for "no filter", then red, green and blue (from BT.601, limited range)."""
    scale = 64
    luma = [round(scale * 255 / 219 * (y - 16)) for y in range(256)]
    red, green_cb, green_cr, blue = ([round(scale * 255 / 224 * factor * (c - 128)) for c in range(256)]
                                     for factor in (1.402, -0.3441362862, -0.7141362862, 1.772))
    clipped = [min(255, (value + scale // 2) // scale) for value in range(luma[255] + blue[255] + 1)]
    clipped += [0] * -(luma[0] + blue[0])  # sums below 0 index from the end
    slot, width = picture.slot, picture.width
    for y in range(0, picture.height, 2):
        at = picture.offsets[1] + y // 2 * picture.strides[1]
        cb, cr = slot[at:at + width:2], slot[at + 1:at + width:2]
        halves = [red[v] for v in cr], [green_cb[u] + green_cr[v] for u, v in zip(cb, cr)], [blue[u] for u in cb]
        channels = [[value for value in half for _ in (0, 1)] for half in halves]
        for row in (y, y + 1):
            at = picture.offsets[0] + row * picture.strides[0]
            lumas = [luma[v] for v in slot[at:at + width]]
            pixels = bytearray(1 + 3 * width)
            for first, channel in enumerate(channels, 1):
                pixels[first::3] = bytes([clipped[a + b] for a, b in zip(lumas, channel)])
            yield bytes(pixels)


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(picture: Picture, path: str) -> None:
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path) or ".", prefix=".oriel-", delete=False) as file:
        try:
            size = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 2, 0, 0, 0)
            file.write(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", size))
            packer = zlib.compressobj()
            for row in rgb_rows(picture):
                data = packer.compress(row)
                if data:
                    file.write(png_chunk(b"IDAT", data))
            file.write(png_chunk(b"IDAT", packer.flush()) + png_chunk(b"IEND", b""))
            file.flush()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


class Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"oriel-snapshot: {message}; see --help\n")


def parse_arguments() -> argparse.Namespace:
    parser = Arguments(prog="oriel-snapshot.py", allow_abbrev=False,
                       description="Write the latest frame of a live broadcast as a PNG picture.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--name", default="default", help="name of the broadcast (default: default)")
    which.add_argument("--dir", metavar="PATH", help="folder of the broadcast, instead of the one for its name")
    parser.add_argument("--follow", type=float, metavar="SECONDS", help="follow the broadcast for so long first")
    parser.add_argument("--wait", type=float, default=2, metavar="SECONDS", help="wait for a first frame (default: 2)")
    parser.add_argument("file", metavar="FILE.png")
    arguments = parser.parse_args()
    if not re.fullmatch(r"(?!\.)[A-Za-z0-9._-]{1,64}", arguments.name):
        parser.error("a name has 1 to 64 letters, digits, dots, underscores and hyphens, and no leading dot")
    if not all(math.isfinite(value) and value >= 0 for value in (arguments.wait, arguments.follow or 0)):
        parser.error("seconds must be a number from 0 on")
    if arguments.dir is None:
        base = os.environ.get("XDG_RUNTIME_DIR")
        base = f"{base}/oriel" if base else f"{os.environ.get('TMPDIR') or '/tmp'}/oriel-{os.geteuid()}"
        arguments.dir = f"{base}/{arguments.name}"
    return arguments


def complain(sentence: str, code: int) -> int:
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in sentence)  # status is anybody's text
    print(f"oriel-snapshot: {shown}", file=sys.stderr)
    return code


def main() -> int:
    arguments = parse_arguments()
    place, refused = arguments.dir, None
    try:
        reader = Reader(place)
        picture = first_picture(reader, arguments.wait)
        if arguments.follow is not None:
            picture, refused = follow(reader, picture, arguments.follow)
        place = arguments.file
        write_png(picture, place)
        if arguments.follow is not None:
            place = "standard output"
            print(f"frames={reader.read_frames} overruns={reader.overruns} generations={reader.generations} "
                  f"last={picture.number}", flush=True)
        if refused:
            return complain(f"stopped reading {arguments.dir}: {refused}", FAILED)
    except NotYet as why:
        return complain(f"no picture in {place}: {why}; start the broadcast, or wait longer (--wait)", NO_PICTURE)
    except Refused as why:
        return complain(f"cannot read {place}: {why}", FAILED)
    except (OSError, MemoryError) as error:
        what = getattr(error, "strerror", None) or str(error) or "out of memory"
        return complain(f"cannot use {place}: {what}; see that it is there, is yours, and has room", FAILED)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
