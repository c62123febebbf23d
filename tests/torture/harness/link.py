"""A TCP proxy: stands where a network would, and does to the traffic what networks do."""

import asyncio
import socket
import threading

from .processes import free_port


class Links:
    """The loop in which all links of a run live, in a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def new(self, name, target_port):
        link = Link(self, name, target_port)
        self.call(link.open())
        return link


class Link:
    def __init__(self, links, name, target_port):
        self.links = links
        self.name = name
        self.target_port = target_port
        self.port = free_port()
        self.delay = 0.0          # seconds, each way
        self.held = False         # nothing passes; connections stay
        self.refusing = False     # new connections are closed at once
        self.swallow_replies = 0  # so many replies are thrown away, and their connections reset
        self.swallowed = 0
        self.delayed_bytes = 0
        self.held_bytes = 0
        self._connections = set()

    async def open(self):
        self._released = asyncio.Event()
        self._released.set()
        while True:
            try:
                self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
                return
            except OSError:
                self.port = free_port()

    # The following are called from the nemesis' thread, and have taken effect when they return.

    def cut(self):
        """Resets all connections; returns how many there were."""
        return self.links.call(self._cut())

    def route(self, target_port):
        """New connections go there; the old ones are reset."""
        self.target_port = target_port
        return self.cut()

    def hold(self):
        self.links.call(self._set_held(True))

    def release(self):
        self.links.call(self._set_held(False))

    async def _cut(self):
        count = len(self._connections)
        for writer in [side for pair in self._connections for side in pair]:
            _reset(writer)
        self._connections.clear()
        return count

    async def _set_held(self, held):
        self.held = held
        if held:
            self._released.clear()
        else:
            self._released.set()

    async def _serve(self, reader, writer):
        if self.refusing:
            _reset(writer)
            return
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            _reset(writer)
            return
        pair = (writer, to_writer)
        self._connections.add(pair)
        ways = [asyncio.ensure_future(self._pump(reader, to_writer, False, pair)),
                asyncio.ensure_future(self._pump(to_reader, writer, True, pair))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._connections.discard(pair)
            for way in ways:
                way.cancel()
            for side in pair:
                side.close()

    async def _pump(self, reader, writer, is_reply, pair):
        try:
            while True:
                data = await reader.read(65536)
                if not data:
                    return
                if is_reply and self.swallow_replies > 0:
                    self.swallow_replies -= 1
                    self.swallowed += 1
                    for side in pair:
                        _reset(side)
                    return
                if self.held:
                    self.held_bytes += len(data)
                    await self._released.wait()
                if self.delay:
                    self.delayed_bytes += len(data)
                    await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            return


def _reset(writer):
    """Ends a connection by a reset instead of an orderly end."""
    try:
        sock = writer.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        writer.transport.abort()
    except OSError:
        pass
