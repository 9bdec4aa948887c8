"""The books: read models made by a plain Kafka consumer, which has never heard of an event store.

The topic is the category of the accounts' streams. A record's key is its account, its value what happened, its headers say
which event it is, of what type and since when it is true.
"""

import json
import time
import uuid
from collections import defaultdict
from datetime import datetime

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from account import change

TOPIC = "account"
PATIENCE_S = 30
# The other side of each posting: the bank's till, and what is on its way between two accounts.
CASH, IN_TRANSIT = "cash", "in transit"


def read_topic(bootstrap):
    """All records up to the ends of the topic's partitions as of now."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"books-{uuid.uuid4()}", "enable.auto.commit": False})
    try:
        partitions = consumer.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
        ends = {p: consumer.get_watermark_offsets(TopicPartition(TOPIC, p), timeout=10)[1] for p in partitions}
        consumer.assign([TopicPartition(TOPIC, p, OFFSET_BEGINNING) for p in partitions])
        done = {p: 0 for p in partitions}
        deadline = time.monotonic() + PATIENCE_S
        while any(done[p] < end for p, end in ends.items()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"read {done} of {ends} in {PATIENCE_S} s")
            for record in consumer.consume(1000, 0.5):
                if record.error():
                    raise RuntimeError(record.error())
                done[record.partition()] = record.offset() + 1
                yield record
    finally:
        consumer.close()


class Books:
    def __init__(self):
        self.balances = defaultdict(int)
        # Of each account its lowest balance ever, and how many records it has.
        self.lowest = defaultdict(int)
        self.records = defaultdict(int)
        # Double entry: every posting takes from one account (debit) what it gives to another (credit).
        self.debits = defaultdict(int)
        self.credits = defaultdict(int)
        self.transfers = defaultdict(list)
        self.ids = defaultdict(int)
        # By account: (when it was true, when it was recorded, change).
        self.history = defaultdict(list)

    @classmethod
    def of_topic(cls, bootstrap):
        books = cls()
        for record in read_topic(bootstrap):
            books.post(record)
        return books

    def post(self, record):
        headers = {name: value.decode() for name, value in record.headers()}
        name = record.key().decode()
        event = {"type": headers["ce_type"], "data": json.loads(record.value())}
        self.ids[headers["ce_id"]] += 1
        self.records[name] += 1
        amount = change(event)
        self.balances[name] += amount
        self.lowest[name] = min(self.lowest[name], self.balances[name])
        recorded = record.timestamp()[1]
        # What has no time of its own was true when it was recorded.
        true = milliseconds(headers["ce_time"]) if "ce_time" in headers else recorded
        self.history[name].append((true, recorded, amount))
        if "transfer" in event["data"]:
            self.transfers[event["data"]["transfer"]].append(amount)
        other = IN_TRANSIT if "transfer" in event["data"] else CASH
        giver, taker = (other, name) if amount > 0 else (name, other)
        self.debits[giver] += abs(amount)
        self.credits[taker] += abs(amount)

    def balance_at(self, name, true_at, known_at=None):
        """What was in an account at a time, as far as was recorded by `known_at`; times are milliseconds."""
        return sum(
            amount
            for true, recorded, amount in self.history[name]
            if true <= true_at and (known_at is None or recorded <= known_at)
        )


def milliseconds(time_text):
    return int(datetime.fromisoformat(time_text).timestamp() * 1000)
