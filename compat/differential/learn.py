"""What the script learns from an answer: it follows Kafka's, as long as both say the same."""

from .odd import deleted
from .world import HIGHWATER, KAFKA, Member, Pair, Topic


def learn(world, exchange):
    request, answers = exchange.request, exchange.answers
    how = LEARNT.get(request.api.name)
    if how and all(isinstance(answer, dict) for answer in answers.values()) and not request.mangle:
        how(world, request, answers[KAFKA], answers[HIGHWATER])


def created(world, request, kafka, highwater):
    if request.value["validateOnly"]:
        return
    ids = {one["Name"]: one.get("TopicId") for one in highwater["Topics"]}
    for one in kafka["Topics"]:
        if not one["ErrorCode"] and world.topic(one["Name"]) is None:
            counts = [len(asked.get("Assignments") or ()) or asked["NumPartitions"] for asked in request.value["Topics"] or ()
                      if asked["Name"] == one["Name"]]
            topic = Topic(one["Name"], partitions=max(1, *counts))
            if "TopicId" in one and ids.get(one["Name"]):
                topic.id = Pair(one["TopicId"], ids[one["Name"]])
            world.topics.append(topic)


def described(world, request, kafka, highwater):
    """Topics that were made without their ids being told, by a client or by the way."""
    others = {one["Name"]: one for one in highwater["Topics"]}
    for one in kafka["Topics"]:
        name = one["Name"] or ""
        if one["ErrorCode"] or not name.startswith(world.prefix) or name not in others:
            continue
        topic = world.topic(name)
        if topic is None:
            world.topics.append(topic := Topic(name))
        topic.partitions = len(one["Partitions"])
        if "TopicId" in one:
            topic.id = Pair(one["TopicId"], others[name]["TopicId"])


def removed(world, request, kafka, highwater):
    for one in kafka["Responses"]:
        if not one["ErrorCode"] and one["Name"]:
            deleted(one["Name"], world)


def grown(world, request, kafka, highwater):
    for one in kafka["Results"]:
        topic = world.topic(one["Name"])
        counts = [asked["Count"] for asked in request.value["Topics"] or () if asked["Name"] == one["Name"]]
        if topic and not one["ErrorCode"] and not request.value["ValidateOnly"]:
            topic.partitions = max(topic.partitions, *counts)


def produced(world, request, kafka, highwater):
    answered = {(one.get("Name"), part["Index"]): part for one in kafka["Responses"] for part in one["PartitionResponses"]}
    for asked in request.value["TopicData"] or ():
        topic = next((one for one in world.topics if asked.get("Name") == one.name or asked.get("TopicId") == one.id), None)
        for part in (asked["PartitionData"] or ()) if topic else ():
            said = answered.get((asked.get("Name"), part["Index"])) or next(iter(answered.values()), None)
            batch = part["Records"]
            if said and not said["ErrorCode"] and hasattr(batch, "records"):
                topic.records[part["Index"]] = max(topic.records.get(part["Index"], 0), said["BaseOffset"] + len(batch.records))
                for producer in world.producers:
                    if producer.id == batch.producer and batch.producer != -1:
                        producer.sequences[topic.name, part["Index"]] = batch.sequence + len(batch.records)


def initialised(world, request, kafka, highwater):
    producer = world.producer(request.value["TransactionalId"])
    if producer and not kafka["ErrorCode"] and not highwater["ErrorCode"]:
        if producer.transactional_id is None:
            producer = next((one for one in world.producers if one.transactional_id is None and one.id == -1), producer)
        producer.becomes(Pair(kafka["ProducerId"], highwater["ProducerId"]), kafka["ProducerEpoch"])


def ended(world, request, kafka, highwater):
    producer = world.producer(request.value["TransactionalId"])
    if producer and kafka.get("ProducerId", -1) != -1 and not kafka["ErrorCode"]:
        producer.becomes(Pair(kafka["ProducerId"], highwater["ProducerId"]), kafka["ProducerEpoch"])


def joined(world, request, kafka, highwater):
    """A member id that was given, or a generation that begins."""
    group = world.group(request.value["GroupId"])
    if group is None or kafka["ErrorCode"] not in (0, 79) or not kafka["MemberId"]:
        return
    member_id = same_or_pair(kafka["MemberId"], highwater["MemberId"])
    member = next((one for one in group.members if one.id == member_id), None)
    if member is None:
        group.members.append(member := Member(member_id, instance=request.value.get("GroupInstanceId")))
    if not kafka["ErrorCode"]:
        member.generation = kafka["GenerationId"]


def left(world, request, kafka, highwater):
    group = world.group(request.value["GroupId"])
    if group and not kafka["ErrorCode"]:
        gone = [request.value["MemberId"]] if "MemberId" in request.value else \
            [one["MemberId"] for one in request.value["Members"] or ()]
        group.members = [one for one in group.members if one.id not in gone]


def beaten(world, request, kafka, highwater):
    """A member of the consumer protocol."""
    group = world.group(request.value["GroupId"])
    if group is None or kafka["ErrorCode"] or not kafka["MemberId"]:
        return
    member_id = same_or_pair(kafka["MemberId"], highwater["MemberId"])
    member = next((one for one in group.members if one.id == member_id), None)
    if kafka["MemberEpoch"] < 0:
        group.members = [one for one in group.members if one is not member]
        return
    if member is None:
        group.members.append(member := Member(member_id, instance=request.value["InstanceId"]))
    member.generation = kafka["MemberEpoch"]
    if kafka["Assignment"]:
        member.assignment = kafka["Assignment"]["TopicPartitions"]


def fetched(world, request, kafka, highwater):
    """Sessions live in memory alone: those that were given, with the epoch that comes next."""
    session = kafka.get("SessionId", 0)
    if kafka.get("ErrorCode") or not session or not highwater.get("SessionId"):
        return
    pair, epoch = Pair(session, highwater["SessionId"]), request.value["SessionEpoch"] + 1
    world.sessions = [one for one in world.sessions if one[0] != pair][-2:] + [(pair, max(epoch, 1))]


def same_or_pair(kafka, highwater):
    return kafka if kafka == highwater else Pair(kafka, highwater)


LEARNT = {"CreateTopics": created, "Metadata": described, "DeleteTopics": removed, "CreatePartitions": grown, "Produce": produced,
          "InitProducerId": initialised, "EndTxn": ended, "JoinGroup": joined, "LeaveGroup": left, "ConsumerGroupHeartbeat": beaten,
          "Fetch": fetched}
