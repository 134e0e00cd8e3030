# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, by whose fault it is."""


class Error(Exception):
    """An error of the platform. The message is a sentence; beside it are its data, which are empty where they are not known.

    subject: the file, key, function, stream or operation that it is about
    value: what was found there
    remedy: what would be right
    """

    def __init__(self, message: str, subject: str = "", value: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.subject = subject
        self.value = value
        self.remedy = remedy


class BadInput(Error, ValueError):
    """What the caller gave is wrong: a configuration, a key, a size, an address."""


class DeviceFault(Error):
    """The card has reported an error, hangs, or is gone."""


class InternalError(Error):
    """The platform itself is wrong."""
