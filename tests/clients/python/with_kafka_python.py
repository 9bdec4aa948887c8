"""kafka-python: the protocol in Python alone."""

import logging

import kafka
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.structs import OffsetAndMetadata

import client
import scenario
import scenarios  # noqa: F401 — registers them
from client import Record, ServerError

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class KafkaPython(client.Client):
    # Partitions are taken away on the library's own thread, while the member is busy with what it has just polled.
    reads_once = False
    # It takes a tenth of a second over each new topic.
    many = 50
    refuses_empty_records = True
    refuses_null_headers = True
    lacks = {
        "deleted_records": "confluent-kafka and librdkafka stand for all here",
        "auto_create_off": "its setting does not reach the request in 3.0",
    } | dict.fromkeys(client.CONSUMER_PROTOCOL, "it does not speak KIP-848")

    def __init__(self, bootstrap, name):
        super().__init__(bootstrap, name)
        self.admin = self.keep(KafkaAdminClient(bootstrap_servers=bootstrap))

    def error_code(self, error):
        return getattr(error, "errno", None)

    def cluster(self):
        described = self.admin.describe_cluster()
        return described["cluster_id"], [(b["broker_id"], b["host"], b["port"]) for b in described["brokers"]]

    def create(self, *topics, partitions=1, configs=None, replicas=1):
        wanted = {"num_partitions": partitions, "replication_factor": replicas, "configs": configs or {}}
        self.admin.create_topics(dict.fromkeys(topics, wanted))

    def delete(self, *topics):
        self.admin.delete_topics(list(topics))

    def topics(self):
        return set(self.admin.list_topics())

    def partitions(self, topic):
        described = self.admin.describe_topics([topic])[0]
        ServerError.check(described["error_code"])
        return sorted(partition["partition_index"] for partition in described["partitions"])

    def configs(self, topic):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        entries = self.admin.describe_configs([resource], config_filter="all")["topic"][topic]
        return {name: (entry["value"], "default" in str(entry["config_source"]).lower()) for name, entry in entries.items()}

    def send(self, records, codec="none", acks="all", idempotent=None, linger_ms=20, batch_bytes=None, request_bytes=None):
        options = {"compression_type": None if codec == "none" else codec, "acks": "all" if acks == "all" else int(acks),
                   "linger_ms": linger_ms, "enable_idempotence": acks == "all" if idempotent is None else idempotent}
        if batch_bytes is not None:
            options["batch_size"] = batch_bytes
        if request_bytes is not None:
            options["max_request_size"] = request_bytes
        producer = kafka.KafkaProducer(bootstrap_servers=self.bootstrap, **options)
        try:
            sent = [
                producer.send(record.topic, record.value, record.key, record.headers, record.partition, record.timestamp)
                for record in records
            ]
            producer.flush(scenario.PATIENCE_S)
            metadata = [future.get(scenario.PATIENCE_S) for future in sent]
        finally:
            producer.close(1)
        return [(m.partition, m.offset) for m in metadata]

    def reader(self, group=None, reset="earliest", auto_create=True, auto_commit_ms=None, fetch_bytes=None,
               partition_fetch_bytes=None, wait_ms=50):
        options = {
            "group_id": group,
            "auto_offset_reset": reset,
            "allow_auto_create_topics": auto_create,
            "enable_auto_commit": auto_commit_ms is not None,
            "auto_commit_interval_ms": auto_commit_ms or 5000,
            "fetch_max_wait_ms": wait_ms,
        }
        if fetch_bytes is not None:
            options["fetch_max_bytes"] = fetch_bytes
        if partition_fetch_bytes is not None:
            options["max_partition_fetch_bytes"] = partition_fetch_bytes
        return self.keep(Reader(kafka.KafkaConsumer(bootstrap_servers=self.bootstrap, **options)))

    def member(self, topic, group, seen, assignor="range", instance=None):
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=group, group_instance_id=instance, auto_offset_reset="earliest",
            partition_assignment_strategy=[ASSIGNORS[assignor]], enable_auto_commit=False, heartbeat_interval_ms=100,
            session_timeout_ms=10_000, fetch_max_wait_ms=50)
        return Member(consumer, topic, seen)

    def groups(self):
        return {group["group_id"] for group in self.admin.list_groups()}

    def describe_group(self, group):
        described = self.admin.describe_groups([group])[group]
        members = [member["member_assignment"]["assigned_partitions"] for member in described["members"]]
        return described["group_state"], sorted(sum(len(t["partitions"]) for t in topics) for topics in members)

    def committed(self, group, topic):
        offsets = self.admin.list_group_offsets(group)[group]
        return {place.partition: offset.offset for place, offset in offsets.items() if place.topic == topic}

    def reset_group(self, group, topic, partition, offset):
        place = TopicPartition(topic, partition)
        answer = self.admin.alter_group_offsets(group, {place: OffsetAndMetadata(offset, "")})
        ServerError.check(answer[place].errno)

    def delete_group(self, group):
        answer = self.admin.delete_groups([group])[group]
        if answer != "OK":
            raise getattr(kafka.errors, answer)()


def to_record(record):
    return Record(record.topic, record.value, record.key, record.partition, record.timestamp, list(record.headers),
                  record.offset, record.timestamp_type == 1)


class Reader(client.Reader):
    def __init__(self, consumer):
        self.consumer = consumer

    def assign(self, places, at=None):
        self.consumer.assign([TopicPartition(*place) for place in places])
        if at is None:
            self.consumer.seek_to_beginning()
        for place, offset in (at or {}).items():
            self.seek(place, offset)

    def subscribe(self, topic):
        self.consumer.subscribe([topic])

    def seek(self, place, offset):
        self.consumer.seek(TopicPartition(*place), offset)

    def fetch(self, seconds, limit):
        batches = self.consumer.poll(timeout_ms=seconds * 1000, max_records=limit)
        return [to_record(record) for batch in batches.values() for record in batch]

    def ends(self, places):
        places = [TopicPartition(*place) for place in places]
        begins, ends = self.consumer.beginning_offsets(places), self.consumer.end_offsets(places)
        return {tuple(place): (begins[place], ends[place]) for place in places}

    def at_time(self, times):
        answers = self.consumer.offsets_for_times({TopicPartition(*place): at for place, at in times.items()})
        return {tuple(place): answer.offset if answer else None for place, answer in answers.items()}

    def commit(self, offsets):
        self.consumer.commit({TopicPartition(*place): OffsetAndMetadata(offset, metadata)
                              for place, (offset, metadata) in offsets.items()})

    def committed(self, place):
        answer = self.consumer.committed(TopicPartition(*place), metadata=True)
        return None if answer is None else (answer.offset, answer.metadata)

    def pause(self, *places):
        self.consumer.pause(*(TopicPartition(*place) for place in places))

    def resume(self, *places):
        self.consumer.resume(*(TopicPartition(*place) for place in places))

    def close(self):
        self.consumer.close()


class Member(client.Member, AsyncConsumerRebalanceListener):
    def __init__(self, consumer, topic, seen):
        super().__init__(seen)
        self.consumer = consumer
        # The next offset to read by partition, committed when the partition goes or the member does.
        self.next = {}
        # A member that joins before it knows the topic's partitions may assign none of them and leave it at that.
        self.consumer.partitions_for_topic(topic)
        self.consumer.subscribe([topic], listener=self)

    async def on_partitions_assigned(self, assigned):
        self.owned |= {place.partition for place in assigned}

    async def on_partitions_revoked(self, revoked):
        # This runs on the library's own thread, where its blocking commit is not allowed.
        offsets = self.take(revoked)
        if offsets:
            await self.consumer.commit_async(offsets)
        self.owned -= {place.partition for place in revoked}

    async def on_partitions_lost(self, lost):
        self.owned -= {place.partition for place in lost}

    def take(self, places):
        return {place: OffsetAndMetadata(self.next.pop(place), "") for place in places if place in self.next}

    def run(self):
        try:
            while not self.stop.is_set():
                # In 3.0 a poll whose time runs out in the middle of a join can leave the member in the group for ever
                # without a share, Apache Kafka's groups included, so its time is longer than a join takes.
                for place, batch in self.consumer.poll(timeout_ms=500).items():
                    for record in batch:
                        self.note(record.partition, record.offset)
                    self.next[place] = batch[-1].offset + 1
        finally:
            self.consumer.close(autocommit=False)


if __name__ == "__main__":
    logging.basicConfig(level=logging.CRITICAL)
    scenario.main(KafkaPython)
