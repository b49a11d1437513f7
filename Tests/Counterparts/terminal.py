"""Runs a command in the background of a terminal that stops whoever writes to it from there (stty tostop), as a shell with job
control does, until a text has come from it. Then ends it, and prints how it ended: "exit N", "signal N", or "stopped".

Usage: terminal.py TEXT COMMAND..."""

import os
import pty
import signal
import sys
import termios


def shell(terminal, pids, command):
    """The leader of a session, in whose foreground nothing else runs. Exits with 75 when the command was stopped."""
    os.setsid()
    terminal = os.open(os.ttyname(terminal), os.O_RDWR)  # becomes that of the session
    settings = termios.tcgetattr(terminal)
    settings[3] |= termios.TOSTOP
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        for descriptor in range(3):
            os.dup2(terminal, descriptor)
        os.closerange(3, 100)
        os.execvp(command[0], command)
    os.write(pids, b"%d\n" % child)
    _, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        os.killpg(child, signal.SIGKILL)
        os._exit(75)
    print(f"exit {os.WEXITSTATUS(status)}" if os.WIFEXITED(status) else f"signal {os.WTERMSIG(status)}", flush=True)
    os._exit(0)


def main():
    text, command = sys.argv[1].encode(), sys.argv[2:]
    master, slave = pty.openpty()
    reading, writing = os.pipe()
    leader = os.fork()
    if leader == 0:
        os.close(master)
        shell(slave, writing, command)
    os.close(slave)
    os.close(writing)
    pid = int(os.read(reading, 16))
    seen = b""
    try:
        while part := os.read(master, 4096):
            was_seen, seen = text in seen, seen + part
            if text in seen and not was_seen:
                os.kill(pid, signal.SIGTERM)
    except OSError:  # nobody has the other end any more
        pass
    _, status = os.waitpid(leader, 0)
    if os.waitstatus_to_exitcode(status) == 75:
        print("stopped")
    print(seen.decode(errors="replace"), file=sys.stderr)


main()
