"""What a teller does: read an account, decide, and append on the condition that nothing has happened meanwhile."""

import threading
import uuid
from functools import reduce

import account as rules
from account import Account
from store import Conflict

TRIES_MAX = 100


class Teller:
    def __init__(self, store, name):
        self.store = store
        self.name = name
        # Conflicts met, and solved by reading again.
        self.conflicts = 0
        self._lock = threading.Lock()

    def look(self, stream):
        """The account as it is, and the version to expect of its stream."""
        events = self.store.read(stream)
        version = events[-1]["version"] if events else "none"
        return reduce(Account.after, events, Account()), version

    def do(self, command, stream, *details, time=None):
        """Decides on what is there, and again if that changes before the decision is recorded."""

        def attempt():
            account, version = self.look(stream)
            event = self.event(command(account, *details), time)
            self.store.append(stream, version, event)
            return event

        return self.until_first(attempt)

    def transfer(self, sent_from, sent_to, amount):
        """Both accounts or neither, in one append."""
        number = str(uuid.uuid4())

        def attempt():
            (sender, sender_version), (receiver, receiver_version) = self.look(sent_from), self.look(sent_to)
            sent, received = rules.transfer(sender, receiver, sent_from, sent_to, amount, number)
            self.store.append_to_all(
                (sent_from, sender_version, [self.event(sent)]),
                (sent_to, receiver_version, [self.event(received)]),
            )

        self.until_first(attempt)

    def event(self, event, time=None):
        event = {"id": str(uuid.uuid4()), "metadata": {"teller": self.name}} | event
        return event | {"time": time} if time else event

    def until_first(self, attempt):
        for _ in range(TRIES_MAX):
            try:
                return attempt()
            except Conflict:
                with self._lock:
                    self.conflicts += 1
        raise RuntimeError(f"others were faster {TRIES_MAX} times")
