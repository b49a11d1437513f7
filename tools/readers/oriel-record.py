#!/usr/bin/env python3
"""Record the sound of a live Oriel broadcast as a WAV file.

Written from the format document (Format.md) alone, as oriel-snapshot.py is.
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
import time
import wave
from typing import BinaryIO, NamedTuple, NoReturn, Optional, Tuple

FAILED, USAGE, NO_SOUND = 1, 64, 75
PAGE, SLOTS, SLOT_BYTES, SAMPLES, RATE = 4096, 128, 2048, 480, 48000
RETIRED, STATES = 6, range(1, 9)
F_GET_SEALS, ALL_SEALS = 1034, 0x01 | 0x02 | 0x04 | 0x10
HEADER = struct.Struct("<8sIHHIIQQQQII")
SLOT = struct.Struct("<QQQHHI")
MOST_BLOCKS = 1 << 48
POLL_SECONDS = 0.005


class NotYet(Exception):
    """There is no sound now; there may be some later."""


class Refused(Exception):
    """What is there is damaged, or must not be trusted."""


class Block(NamedTuple):
    number: int
    captured_ns: int
    samples: bytes  # of two channels


def require(condition: bool, what: str, remedy: str = "restart the sound of the broadcast") -> None:
    if not condition:
        raise Refused(f"{what}; {remedy}")


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def require_private(info: os.stat_result, what: str) -> None:
    require(info.st_uid == os.geteuid(), f"{what} belongs to somebody else", "use a folder of your own")
    require(not info.st_mode & 0o077, f"{what} is open to group or others", "take their rights away (chmod go=)")


def receive_sealed_memory(folder: int, name: str) -> BinaryIO:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", theirs.fileno()))]
        try:
            ours.setblocking(False)
            ours.sendmsg([b"?"], rights, 0, f"/proc/self/fd/{folder}/{name}")
            theirs.close()
            ours.settimeout(0.25)
            _, ancillary, _, _ = ours.recvmsg(64, socket.CMSG_SPACE(16), socket.MSG_CMSG_CLOEXEC)
        except (ConnectionError, FileNotFoundError):
            raise NotYet("the writer is gone, and its sound with it") from None
        except (BlockingIOError, socket.timeout):
            raise NotYet("the writer does not hand out its sound") from None
    files = [open(fd, "rb", buffering=0) for _, kind, data in ancillary if kind == socket.SCM_RIGHTS
             for fd, in struct.iter_unpack("i", data[:len(data) // 4 * 4])]
    require(len(files) == 1, "the writer answered without its sound")
    seals = fcntl.fcntl(files[0], F_GET_SEALS)
    require(seals & ALL_SEALS == ALL_SEALS, "the memory of the sound is not sealed")
    return files[0]


class Sound:
    """The sound of one generation."""

    def __init__(self, folder: int, name: str) -> None:
        self.folder, self.name = folder, name
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISSOCK(info.st_mode):
            require_private(info, name)
            self.file = receive_sealed_memory(folder, name)
        else:
            require(stat.S_ISREG(info.st_mode), f"{name} is not a regular file", "remove it")
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self.file = open(os.open(name, flags, dir_fd=folder), "rb", buffering=0)
            info = os.fstat(self.file.fileno())
            require(stat.S_ISREG(info.st_mode), f"{name} is not a regular file", "remove it")
            require_private(info, name)
        self.first_slot = self.check_header(int(name.rpartition(".")[2], 16))
        self.began_ns = self.number_at(112)
        self.next: Optional[int] = None

    def pread(self, count: int, offset: int) -> bytes:
        data = os.pread(self.file.fileno(), count, offset)
        require(len(data) == count, f"{self.name} was cut")
        return data

    def number_at(self, offset: int) -> int:
        return struct.unpack("<Q", self.pread(8, offset))[0]

    def check_header(self, expected: int) -> int:
        page = self.pread(PAGE, 0)
        magic, order, major, minor, _, slots, generation, total, stride, first, _, crc = HEADER.unpack_from(page)
        damaged = f"{self.name} is damaged: wrong "
        require(magic == b"ORIELSV1" and order == 0x01020304, damaged + "start")
        require(crc == crc32c(page[:60]), damaged + "checksum of the header")
        require(major == 1, f"{self.name} has format {major}.{minor}", "use the same version of Oriel on both sides")
        require(slots == SLOTS and stride == SLOT_BYTES, damaged + "slots")
        require(generation == expected, damaged + "generation")
        require(total <= os.fstat(self.file.fileno()).st_size, damaged + "size")
        require(first >= PAGE and first % SLOT_BYTES == 0 and first + SLOTS * stride <= total, damaged + "place of slots")
        return first

    def is_retired(self) -> bool:
        state = struct.unpack("<I", self.pread(4, 80))[0]
        require(state in STATES, f"{self.name} is damaged: wrong state")
        return state == RETIRED

    def is_current(self) -> bool:
        try:
            os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return not self.is_retired()

    def horizon(self) -> int:
        horizon, heartbeat = self.number_at(96), self.number_at(72)
        return horizon if horizon <= heartbeat else 0

    def read(self) -> Tuple[Optional[Block], int, bool]:
        """The next block, how many are lost, and whether there may be another one at once."""
        head = self.number_at(64)
        require(head <= MOST_BLOCKS and head + 1 >= (self.next or 0), f"{self.name} is damaged: wrong newest block")
        number = self.next or head
        if head == 0 or head < number:
            self.next = number or 1
            return None, 0, False
        if head - number >= SLOTS:
            self.next = head + 2 - SLOTS
            return None, self.next - number, True
        start = self.first_slot + number % SLOTS * SLOT_BYTES
        slot = self.pread(SLOT_BYTES, start)
        sequence = self.number_at(start)
        self.next = number + 1
        if sequence == 2 * number + 1:  # taken back
            return None, 0, True
        if sequence != 2 * number + 2:
            other = (sequence - 1) // 2
            is_later = other > number and other % SLOTS == number % SLOTS
            require(is_later, f"{self.name} is damaged: wrong sequence number")
            return None, 1, True
        _, found, captured_ns, channels, _, crc = SLOT.unpack_from(slot)
        require(crc == crc32c(slot[8:28]) and found == number, f"{self.name} is damaged: wrong checksum of a block")
        require(channels in (1, 2), f"{self.name} is damaged: wrong number of channels")
        samples = slot[64:64 + 2 * SAMPLES * channels]
        if channels == 1:
            samples = b"".join(samples[at:at + 2] * 2 for at in range(0, len(samples), 2))
        return Block(number, captured_ns, samples), 0, True


class Reader:
    """Follows the sound from generation to generation."""

    def __init__(self, path: str) -> None:
        self.path, self.folder = path, -1
        self.sound: Optional[Sound] = None
        self.successor: Optional[Sound] = None
        self.refused = ""
        self.horizon_ns = self.blocks = self.lost = self.generations = 0
        self.has_looked = False

    def newest(self) -> Optional[Sound]:
        known = [sound.name for sound in (self.sound, self.successor) if sound] + [self.refused]
        found, problem = [], None
        for name in os.listdir(self.folder):
            if re.fullmatch(r"sound\.[0-9a-f]{16}", name) and name not in known:
                try:
                    sound = Sound(self.folder, name)
                    if not sound.is_retired():
                        found.append(sound)
                except FileNotFoundError:
                    pass
                except (Refused, OSError) as why:
                    problem = why
        if not found and problem:
            raise problem
        return max(found, key=lambda sound: sound.began_ns, default=None)

    def follow(self) -> None:
        if self.folder < 0:
            try:
                self.folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise NotYet("there is no such folder") from None
            require_private(os.fstat(self.folder), "the folder")
        present = self.successor or self.sound
        if present and present.is_current():
            return
        found = self.newest()
        if found:
            if self.has_looked:  # the first one of all is read from its newest block on
                found.next = 1
            self.generations += 1
            if self.sound:
                self.horizon_ns = max(self.horizon_ns, (present or self.sound).horizon())
                self.successor = found
            else:
                self.sound = found
        self.has_looked = True

    def poll(self) -> Optional[Block]:
        """The next block that may be heard; None where there is none yet."""
        self.follow()
        while self.sound:
            is_over = self.sound.is_retired() or self.successor
            try:
                block, lost, may_go_on = self.sound.read()
            except Refused:
                self.refused, self.sound, self.successor = self.sound.name, self.successor, None
                raise
            self.lost += lost
            if block:
                horizon = max(self.horizon_ns, (self.successor or self.sound).horizon())
                self.horizon_ns = horizon
                if block.captured_ns >= horizon:
                    self.blocks += 1
                    return block
            elif not may_go_on:
                if not is_over:
                    return None
                self.sound, self.successor = self.successor, None
        return None


class Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"oriel-record: {message}; see --help\n")


def parse_arguments() -> argparse.Namespace:
    parser = Arguments(prog="oriel-record.py", allow_abbrev=False,
                       description="Record the sound of a live broadcast as a WAV file.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--name", default="default", help="name of the broadcast (default: default)")
    which.add_argument("--dir", metavar="PATH", help="folder of the broadcast, instead of the one for its name")
    parser.add_argument("--seconds", type=float, default=5, help="how long to record, in seconds (default: 5)")
    parser.add_argument("file", metavar="FILE.wav")
    arguments = parser.parse_args()
    if not re.fullmatch(r"(?!\.)[A-Za-z0-9._-]{1,64}", arguments.name):
        parser.error("a name has 1 to 64 letters, digits, dots, underscores and hyphens, and no leading dot")
    if not math.isfinite(arguments.seconds) or arguments.seconds < 0:
        parser.error("seconds must be a number from 0 on")
    if arguments.dir is None:
        base = os.environ.get("XDG_RUNTIME_DIR")
        base = f"{base}/oriel" if base else f"{os.environ.get('TMPDIR') or '/tmp'}/oriel-{os.geteuid()}"
        arguments.dir = f"{base}/{arguments.name}"
    return arguments


def complain(sentence: str, code: int) -> int:
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in sentence)
    print(f"oriel-record: {shown}", file=sys.stderr)
    return code


def main() -> int:
    arguments = parse_arguments()
    reader, reason, place = Reader(arguments.dir), "nothing is to be heard", arguments.dir
    refused: Optional[Exception] = None
    recording: Optional[wave.Wave_write] = None
    end = time.monotonic() + arguments.seconds
    try:
        while True:
            try:
                block = reader.poll()
                if block:
                    if not recording:
                        recording = wave.open(arguments.file, "wb")
                        recording.setparams((2, 2, RATE, 0, "NONE", "not compressed"))
                    recording.writeframesraw(block.samples)
                    refused = None
                    continue
            except NotYet as why:
                reason = str(why)
            except Refused as why:
                refused = why
            if time.monotonic() >= end:
                break
            time.sleep(POLL_SECONDS)
        if recording:
            place = arguments.file
            recording.close()
        if refused:
            return complain(f"cannot read {arguments.dir}: {refused}", FAILED)
        if not recording:
            return complain(f"no sound in {place}: {reason}; start it, or record longer (--seconds)", NO_SOUND)
        place = "standard output"
        print(f"blocks={reader.blocks} lost={reader.lost} generations={reader.generations}", flush=True)
    except (OSError, MemoryError) as error:
        what = getattr(error, "strerror", None) or str(error) or "out of memory"
        return complain(f"cannot use {place}: {what}; see that it is there, is yours, and has room", FAILED)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
