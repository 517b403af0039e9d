"""Settings that suites written for a test cluster expect of the one broker there is."""

PROFILE = [
    "node.id=0",
    "num.partitions=4",
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=100",
    "group.consumer.min.session.timeout.ms=500",
    "group.consumer.min.heartbeat.interval.ms=100",
    "group.share.min.session.timeout.ms=500",
    "group.share.min.heartbeat.interval.ms=100",
    "group.share.min.record.lock.duration.ms=1000",
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
    "share.coordinator.state.topic.num.partitions=1",
    "log.retention.check.interval.ms=5000",
    "log.cleaner.backoff.ms=1000",
    "log.segment.delete.delay.ms=1000",
    "log.initial.task.delay.ms=100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=200",
    "transaction.remove.expired.transaction.cleanup.interval.ms=2000",
]


def profile(*more):
    """The profile with settings of a suite's own in the place of its."""
    names = {setting.split("=")[0] for setting in more}
    return [setting for setting in PROFILE if setting.split("=")[0] not in names] + list(more)
