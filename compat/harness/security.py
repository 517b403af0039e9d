"""What a broker keeps for others: ACLs, SCRAM users, quotas, dynamic configs. Made and described by Kafka's own tools, on Kafka
itself; Highwater keeps and gives back what it does not act on."""

from concurrent.futures import ThreadPoolExecutor

ACL, CONFIG, FEATURE = (f"org.apache.kafka.tools.{name}Command" for name in ("Acl", "Config", "Feature"))

ACLS = [
    "--add --allow-principal User:alice --operation Read --operation Write --topic turns-plain",
    "--add --deny-principal User:mallory --deny-host 10.1.2.3 --operation All --topic turns- --resource-pattern-type prefixed",
    "--add --allow-principal User:alice --operation Read --group * ",
    "--add --allow-principal User:carol --operation IdempotentWrite --cluster",
    "--add --allow-principal User:carol --operation Describe --transactional-id turns",
    "--remove --force --allow-principal User:carol --operation IdempotentWrite --cluster",
]

SCRAM = [
    "users --entity-name alice --add-config SCRAM-SHA-256=[iterations=4096,password=a]",
    "users --entity-name alice --add-config SCRAM-SHA-512=[iterations=4096,password=b]",
    "users --entity-name bob --add-config SCRAM-SHA-256=[iterations=8192,password=c]",
    # A Kafka that replays this forgets alice's as well.
    "users --entity-name bob --delete-config SCRAM-SHA-256",
]

CONFIGS = [
    "users --entity-name alice --add-config producer_byte_rate=1048576,request_percentage=50",
    "users --entity-name alice --entity-type clients --entity-name reports --add-config consumer_byte_rate=2097152",
    "users --entity-default --add-config consumer_byte_rate=1000000000",
    "ips --entity-name 127.0.0.9 --add-config connection_creation_rate=7",
    "brokers --entity-name 1 --add-config log.cleaner.threads=2",
    "brokers --entity-default --add-config log.cleaner.delete.retention.ms=86300000",
    "client-metrics --entity-name turns-metrics --add-config interval.ms=90000",
]

GROUP_CONFIGS = "groups --entity-name turns-group --add-config consumer.session.timeout.ms=47000"
"""There since Kafka 4.0."""

DESCRIBED = ["users", "users --entity-type clients", "ips", "brokers --entity-name 1", "brokers --entity-default", "client-metrics"]


class Security:
    """`java` runs one of Kafka's tools to its end."""

    def __init__(self, java, address, has_group_configs):
        self.java, self.address = java, address
        self.has_group_configs = has_group_configs

    def create(self):
        configs = CONFIGS + ([GROUP_CONFIGS] if self.has_group_configs else [])
        for words in SCRAM:
            self.tool(CONFIG, f"--alter --entity-type {words}")
        self.at_once([(CONFIG, f"--alter --entity-type {words}") for words in configs] + [(ACL, words) for words in ACLS[:-1]])
        self.tool(ACL, ACLS[-1])

    def describe(self):
        """All that the tools say, line by line. The users that only differ in order are the same."""
        described = DESCRIBED + (["groups"] if self.has_group_configs else [])
        asked = [(CONFIG, f"--describe --entity-type {words}") for words in described] + [(ACL, "--list"), (FEATURE, "describe")]
        return {f"{tool.rsplit('.')[-1]} {words}": told(text) for (tool, words), text in zip(asked, self.at_once(asked))}

    def at_once(self, asked):
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda one: self.tool(*one), asked))

    def tool(self, tool, words):
        return self.java(tool, "--bootstrap-server", self.address, *words.split())


def told(text):
    """Without the epoch of the metadata, which every change moves. In whatever order a line tells the credentials of a user."""
    lines = (line.split("Epoch:")[0].strip() for line in text.splitlines())
    return sorted(in_order(line) for line in lines if line and "WARN" not in line)


def in_order(line):
    entity, are, settings = line.partition(" are ")
    return entity + are + ", ".join(sorted(settings.split(", ")))
