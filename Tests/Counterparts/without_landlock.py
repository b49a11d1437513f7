"""Runs a command where the kernel offers no Landlock, as in many containers: python3 without_landlock.py COMMAND…

A seccomp filter answers the three calls of Landlock with ENOSYS; the command inherits it.
"""

import ctypes
import os
import struct
import sys

ENOSYS = 38
LANDLOCK = range(444, 447)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_GREATER_OR_EQUAL, RETURN = 0x20, 0x35, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000

# struct sock_filter: code, jump if true, jump if false, value. The first word of struct seccomp_data is the call's number.
steps = [
    (LOAD_WORD, 0, 0, 0),
    (JUMP_IF_GREATER_OR_EQUAL, 0, 1, LANDLOCK.start),
    (JUMP_IF_GREATER_OR_EQUAL, 0, 1, LANDLOCK.stop),
    (RETURN, 0, 0, ALLOW),
    (RETURN, 0, 0, ERRNO | ENOSYS),
]
filter_bytes = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


program = Program(len(steps), ctypes.cast(filter_bytes, ctypes.c_void_p))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
