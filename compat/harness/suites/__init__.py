"""The suites of compat/run, by name, in the order in which they run."""

from .cli import Cli
from .clients import Clients
from .clients_old import OldClients
from .connect import Connect
from .differential import Differential
from .groups import Groups
from .junit import Junit, JunitStreams
from .karapace import Karapace
from .kafka_python import KafkaPython
from .librdkafka import Librdkafka, LibrdkafkaConsumerProtocol
from .mirrormaker import MirrorMaker
from .node import ConfluentJavascript
from .reports import Reports
from .rust import Rskafka, RustRdkafka
from .transactions import Transactions
from .verifiable import Verifiable

SUITES = {suite.name: suite for suite in (
    Clients, OldClients, Groups, Transactions, Cli, Reports, Verifiable, KafkaPython, RustRdkafka, Rskafka, ConfluentJavascript, Connect,
    Differential, MirrorMaker, Karapace, Librdkafka, LibrdkafkaConsumerProtocol, Junit, JunitStreams)}
