"""Passes on what comes by TCP. Usage: relay.py PORT HOST PORT"""

import asyncio
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def serve(reader, writer):
    other_reader, other_writer = await asyncio.open_connection(sys.argv[2], int(sys.argv[3]))
    await asyncio.gather(copy(reader, other_writer), copy(other_reader, writer))


async def main():
    server = await asyncio.start_server(serve, "0.0.0.0", int(sys.argv[1]))
    print("listening", flush=True)
    await server.serve_forever()


asyncio.run(main())
