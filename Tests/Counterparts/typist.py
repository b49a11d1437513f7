"""Runs a command in the foreground of a terminal, as a shell with job control does, and types there: whenever the next text has come
from it, a line (or ^C or ^D). Then prints how the command ended: "exit N", "signal N", or "stopped".

Usage: typist.py [TEXT LINE]... -- COMMAND..."""

import os
import pty
import sys
import time


def main():
    split = sys.argv.index("--")
    words, command = sys.argv[1:split], sys.argv[split + 1 :]
    steps = list(zip(words[::2], words[1::2]))
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    seen = b""
    try:
        while part := os.read(master, 4096):
            seen += part
            sys.stderr.buffer.write(part)
            sys.stderr.buffer.flush()
            while steps and steps[0][0].encode() in seen:
                text, line = steps.pop(0)
                seen = seen[seen.index(text.encode()) + len(text.encode()) :]
                time.sleep(1)  # as a person who reads
                os.write(master, {"^C": b"\x03", "^D": b"\x04"}.get(line, line.encode() + b"\n"))
    except OSError:  # nobody has the other end any more
        pass
    _, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        print("stopped")
        os.kill(pid, 9)
    else:
        print(f"exit {os.WEXITSTATUS(status)}" if os.WIFEXITED(status) else f"signal {os.WTERMSIG(status)}")


main()
