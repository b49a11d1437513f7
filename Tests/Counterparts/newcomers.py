"""Three viewers of a broadcast, or members of rooms, that come at once and are given three seconds. Prints one line of JSON: how many
were let in.

Usage: newcomers.py web|rooms HOST PORT [TOKEN]
"""

import asyncio
import json
import sys
from urllib.parse import urlsplit

from stranger import OFFER, Requests, Server, WebSocket, offer, text

PATIENCE = 3


async def look(server, _):
    """A viewer gets an answer to its offer, and leaves."""
    requests = Requests(server)
    status, fields, _ = await requests.send("POST", "/whep", offer("127.0.0.1"), OFFER)
    if status == 201:
        await requests.send("DELETE", urlsplit(fields["location"]).path)
    requests.close()
    return status == 201


async def join(server, number):
    """A member is told that it has joined."""
    socket = await WebSocket.open(server)
    await socket.connect()
    await socket.write(text("42" + json.dumps(["join", f"newcomer {number}"])))
    await socket.expect('42["joined"')
    socket.close()
    return True


async def main(come, server):
    async def attempt(number):
        try:
            async with asyncio.timeout(PATIENCE):
                return await come(server, number)
        except (OSError, EOFError) as error:  # a time that is up is an OSError, too
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return False

    admitted = await asyncio.gather(*(attempt(number) for number in range(3)))
    print(json.dumps({"admitted": sum(admitted)}), flush=True)


kind, host, port, *token = sys.argv[1:]
asyncio.run(main({"web": look, "rooms": join}[kind], Server(host, int(port), *token)))
