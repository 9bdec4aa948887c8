"""aiokafka: asyncio, and the oldest protocol versions of the three."""

import asyncio
import logging
import threading

import aiokafka
from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.structs import OffsetAndMetadata

import client
import scenario
import scenarios  # noqa: F401 — registers them
from client import Record, ServerError

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}

# One loop on a thread of its own drives every client, so that heartbeats go on while a scenario thinks.
LOOP = asyncio.new_event_loop()


def wait(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, LOOP).result(scenario.PATIENCE_S * 2)


async def call(function, *args):
    """For the library's plain functions, which must run on the loop all the same."""
    return function(*args)


class AioKafka(client.Client):
    refuses_empty_records = True
    describing_creates = True
    lacks = {
        "deleted_records": "confluent-kafka and librdkafka stand for all here",
        "auto_create_off": "has no such setting",
        "group_cooperative": "has no cooperative assignor",
        "group_admin": "cannot reset or delete groups",
    } | dict.fromkeys(client.CONSUMER_PROTOCOL, "it does not speak KIP-848")

    def __init__(self, bootstrap, name):
        super().__init__(bootstrap, name)
        self.admin = self.started(lambda: AIOKafkaAdminClient(bootstrap_servers=bootstrap))

    def started(self, make):
        async def start():
            made = make()
            await made.start()
            return made

        return wait(start())

    def close(self):
        super().close()
        wait(self.admin.close())

    def error_code(self, error):
        return getattr(error, "errno", None)

    def cluster(self):
        described = wait(self.admin.describe_cluster())
        return described["cluster_id"], [(b["node_id"], b["host"], b["port"]) for b in described["brokers"]]

    def create(self, *topics, partitions=1, configs=None, replicas=1):
        wanted = [NewTopic(topic, partitions, replicas, topic_configs=configs or {}) for topic in topics]
        answer = wait(self.admin.create_topics(wanted))
        for _, code, *_ in answer.topic_errors:
            ServerError.check(code)

    def delete(self, *topics):
        for _, code in wait(self.admin.delete_topics(list(topics))).topic_error_codes:
            ServerError.check(code)

    def topics(self):
        return set(wait(self.admin.list_topics()))

    def partitions(self, topic):
        described = wait(self.admin.describe_topics([topic]))[0]
        ServerError.check(described["error_code"])
        return sorted(partition["partition"] for partition in described["partitions"])

    def configs(self, topic):
        answers = wait(self.admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))
        (resource,) = answers[0].resources
        ServerError.check(resource[0])
        # Name, value, read-only, then a flag or (since version 1) the source, of which 5 is the default.
        old = answers[0].API_VERSION == 0
        return {entry[0]: (entry[1], bool(entry[3]) if old else entry[3] == 5) for entry in resource[4]}

    def send(self, records, codec="none", acks="all", idempotent=None, linger_ms=20, batch_bytes=None, request_bytes=None):
        options = {"compression_type": None if codec == "none" else codec, "acks": "all" if acks == "all" else int(acks),
                   "linger_ms": linger_ms, "enable_idempotence": acks == "all" if idempotent is None else idempotent}
        if batch_bytes is not None:
            options["max_batch_size"] = batch_bytes
        if request_bytes is not None:
            options |= {"max_request_size": request_bytes, "max_batch_size": request_bytes}
        producer = self.started(lambda: aiokafka.AIOKafkaProducer(bootstrap_servers=self.bootstrap, **options))

        async def send_all():
            try:
                sent = [
                    await producer.send(record.topic, record.value, record.key, record.partition, record.timestamp,
                                        record.headers)
                    for record in records
                ]
                return await asyncio.gather(*sent)
            finally:
                await producer.stop()

        return [(m.partition, m.offset) if m else None for m in wait(send_all())]

    def reader(self, group=None, reset="earliest", auto_create=True, auto_commit_ms=None, fetch_bytes=None,
               partition_fetch_bytes=None, wait_ms=50):
        options = {
            "group_id": group,
            "auto_offset_reset": reset,
            "enable_auto_commit": auto_commit_ms is not None,
            "auto_commit_interval_ms": auto_commit_ms or 5000,
            "fetch_max_wait_ms": wait_ms,
        }
        if fetch_bytes is not None:
            options["fetch_max_bytes"] = fetch_bytes
        if partition_fetch_bytes is not None:
            options["max_partition_fetch_bytes"] = partition_fetch_bytes
        consumer = self.started(lambda: aiokafka.AIOKafkaConsumer(bootstrap_servers=self.bootstrap, **options))
        return self.keep(Reader(consumer))

    def member(self, topic, group, seen, assignor="range", instance=None):
        return Member(lambda: aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=group, group_instance_id=instance, auto_offset_reset="earliest",
            partition_assignment_strategy=[ASSIGNORS[assignor]], enable_auto_commit=False, heartbeat_interval_ms=100,
            session_timeout_ms=10_000, fetch_max_wait_ms=50), topic, seen)

    def groups(self):
        return {group for group, *_ in wait(self.admin.list_consumer_groups())}

    def describe_group(self, group):
        (answer,) = wait(self.admin.describe_consumer_groups([group]))
        (described,) = answer.groups
        code, _, state, _, _, members, *_ = described
        ServerError.check(code)
        counts = []
        for *_, assignment in (member[: 5 if answer.API_VERSION < 4 else 6] for member in members):
            decoded = ConsumerProtocolMemberAssignment.decode(assignment)
            counts.append(sum(len(partitions) for _, partitions in decoded.assignment))
        return state, sorted(counts)

    def committed(self, group, topic):
        offsets = wait(self.admin.list_consumer_group_offsets(group))
        return {place.partition: offset.offset for place, offset in offsets.items() if place.topic == topic}


class Reader(client.Reader):
    def __init__(self, consumer):
        self.consumer = consumer
        self.closed = False

    def assign(self, places, at=None):
        places = [TopicPartition(*place) for place in places]
        wait(call(self.consumer.assign, places))
        if at is None:
            wait(self.consumer.seek_to_beginning(*places))
        for place, offset in (at or {}).items():
            self.seek(place, offset)

    def subscribe(self, topic):
        wait(call(self.consumer.subscribe, [topic]))

    def seek(self, place, offset):
        wait(call(self.consumer.seek, TopicPartition(*place), offset))

    def fetch(self, seconds, limit):
        batches = wait(self.consumer.getmany(timeout_ms=int(seconds * 1000), max_records=limit))
        return [
            Record(r.topic, r.value, r.key, r.partition, r.timestamp, list(r.headers), r.offset, r.timestamp_type == 1)
            for batch in batches.values() for r in batch
        ]

    def ends(self, places):
        places = [TopicPartition(*place) for place in places]
        begins, ends = wait(self.consumer.beginning_offsets(places)), wait(self.consumer.end_offsets(places))
        return {tuple(place): (begins[place], ends[place]) for place in places}

    def at_time(self, times):
        answers = wait(self.consumer.offsets_for_times({TopicPartition(*place): at for place, at in times.items()}))
        return {tuple(place): answer.offset if answer else None for place, answer in answers.items()}

    def commit(self, offsets):
        # The library commits for partitions that are assigned only.
        wait(call(self.consumer.assign, [TopicPartition(*place) for place in offsets]))
        wait(self.consumer.commit({TopicPartition(*place): OffsetAndMetadata(*what) for place, what in offsets.items()}))

    def committed(self, place):
        answer = wait(self.consumer._coordinator.fetch_committed_offsets([TopicPartition(*place)]))
        answer = answer.get(TopicPartition(*place))
        return None if answer is None else (answer.offset, answer.metadata)

    def pause(self, *places):
        wait(call(self.consumer.pause, *(TopicPartition(*place) for place in places)))

    def resume(self, *places):
        wait(call(self.consumer.resume, *(TopicPartition(*place) for place in places)))

    def close(self):
        if not self.closed:
            self.closed = True
            wait(self.consumer.stop())


class Member(client.Member, ConsumerRebalanceListener):
    def __init__(self, make, topic, seen):
        super().__init__(seen)
        self.make = make
        self.topic = topic

    async def on_partitions_assigned(self, assigned):
        self.owned = {place.partition for place in assigned}

    async def on_partitions_revoked(self, revoked):
        if revoked:
            await self.consumer.commit()
        self.owned = set()

    async def read(self):
        self.consumer = self.make()
        self.consumer.subscribe([self.topic], listener=self)
        await self.consumer.start()
        try:
            while not self.stop.is_set():
                for batch in (await self.consumer.getmany(timeout_ms=50)).values():
                    for record in batch:
                        self.note(record.partition, record.offset)
            await self.consumer.commit()
        finally:
            await self.consumer.stop()

    def run(self):
        asyncio.run_coroutine_threadsafe(self.read(), LOOP).result()


if __name__ == "__main__":
    logging.basicConfig(level=logging.CRITICAL)
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    scenario.main(AioKafka)
