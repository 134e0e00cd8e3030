# SPDX-License-Identifier: Apache-2.0
"""A served card for each test: the program, its sockets in a directory of their own, its log."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import vfio_user

CONFIG = "[workload]\nop = \"copy\"\nrows = 64\ncols = 64\n"


def program():
    return os.environ["SPYRE_COSIM"]


class ServedCard(unittest.TestCase):
    """self.serve() starts the server; it must not have died when the test ends."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="spyre-serve-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.server = None
        self.clients = []

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def serve(self, *options, config=CONFIG):
        self.log_path = os.path.join(self.directory, "log")
        with open(self.log_path, "w", encoding="ascii") as log:
            self.server = subprocess.Popen(
                [program(), "serve", self.write("served.toml", config), "--vfio-user",
                 os.path.join(self.directory, "s"), *options],
                stdout=subprocess.PIPE, stderr=log, text=True)
        lines = []
        for line in self.server.stdout:
            lines.append(line.strip())
            if line == "serving\n":
                self.addCleanup(self.stop)
                return lines
        self.server.stdout.close()
        self.server.wait()
        raise AssertionError(self.log())  # it has ended

    def stop(self):
        """Ends the server, which is to be alive."""
        for client in self.clients:
            client.close()
        if self.server is None:
            return
        server, self.server = self.server, None
        alive = server.poll() is None
        server.terminate()
        server.stdout.close()
        status = server.wait(timeout=120)
        self.assertTrue(alive, f"the server has ended by itself: {status}\n{self.log()}")
        self.assertEqual(status, 128 + 15, self.log())
        self.assertFalse(os.path.exists(self.path(0)), "the sockets are removed")

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def path(self, function=0):
        return os.path.join(self.directory, "s", f"spyre.{function}.sock")

    def connect(self, function=0, **arguments):
        client = vfio_user.Client(self.path(function), **arguments)
        self.clients.append(client)
        return client

    def connect_again(self, function=0):
        """Who comes before the server has seen the other one go is sent away."""
        for _ in range(1000):
            try:
                return self.connect(function)
            except (vfio_user.Lost, ConnectionError):
                pass
        raise AssertionError(self.log())

    def assert_refused(self, number, call, *arguments, **named):
        with self.assertRaises(vfio_user.Refused) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.errno, number)


def main():
    sys.exit(unittest.main())
