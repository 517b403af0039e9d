//! Connections, requests and threads.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

const PURGATORY: &str =
    "How often Kafka clears finished waits away; here a wait ends with its request.";
const THREADS: &str =
    "Threads of Kafka's network layer; here connections share one thread for each core.";
const QUEUED: &str =
    "Bound of Kafka's request queue; here requests are bounded by highwater.memory.bytes.";
const OUTGOING: &str = "Connections that a broker opens to others; there is one broker.";

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "advertised.listeners": List = null, NON_EMPTY_LIST, High, read_only, acts
        => "Addresses that clients are told to connect to, by name of the listener; those of listeners unless \
            set, with the name of this host where they listen on every address.";
    "connection.failed.authentication.delay.ms": Int = "100", at_least(0), Low, read_only, later
        => "Delay before a connection is closed whose login failed; there are no logins yet.";
    "connections.max.idle.ms": Long = "600000", ANY, Medium, read_only, acts
        => "A connection on which nothing happens for this time is closed; negative for never.";
    "controller.listener.names": List = null, ANY, High, read_only, acts
        => "Names of listeners that Kafka uses for its controller. They are known here and not bound.";
    "delete.records.purgatory.purge.interval.requests": Int = "1", ANY, Medium, read_only, not_here
        => PURGATORY;
    "early.start.listeners": List = null, ANY, High, read_only, not_here
        => "Listeners that Kafka opens before its authorizer is ready; all are opened together here.";
    "fetch.max.bytes": Int = "57671680", at_least(1024), Medium, read_only, acts
        => "Most bytes of records in one answer to a fetch. The first batch is returned even if it is larger.";
    "fetch.purgatory.purge.interval.requests": Int = "1000", ANY, Medium, read_only, not_here
        => PURGATORY;
    "inter.broker.listener.name": String = null, ANY, Medium, read_only, not_here
        => "Listener that brokers use among themselves; there is one broker.";
    "listener.security.protocol.map": String = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", ANY, Low, per_broker, acts
        => "Security protocol of each listener name. Only PLAINTEXT is there yet.";
    "listeners": List = "PLAINTEXT://:9092", NON_EMPTY_LIST, High, per_broker, acts
        => "Addresses to listen on, as NAME://host:port. An empty host or 0.0.0.0 is every address, [::] every \
            IPv6 and IPv4 address, port 0 one that the system chooses. Names in controller.listener.names are \
            left out.";
    "max.connection.creation.rate": Int = "2147483647", at_least(0), Medium, cluster_wide, acts
        => "Most new connections in a second. Ten seconds' worth may come at once, then they are accepted at this rate. \
            For one listener: listener.name.NAME.max.connection.creation.rate, while the broker runs.";
    "max.connections": Int = "2147483647", at_least(0), Medium, cluster_wide, acts
        => "Most connections at a time. Above it connections wait in the backlog.";
    "max.connections.per.ip": Int = "2147483647", at_least(0), Medium, cluster_wide, acts
        => "Most connections from one IP address. Above it they are closed at once.";
    "max.connections.per.ip.overrides": String = "", ANY, Medium, cluster_wide, acts
        => "Other limits than max.connections.per.ip for some addresses, as in '10.0.0.1:200,10.0.0.2:5'.";
    "max.incremental.fetch.session.cache.slots": Int = "1000", at_least(0), Medium, read_only, acts
        => "Most incremental fetch sessions at a time; without one a fetch names all its partitions.";
    "max.request.partition.size.limit": Int = "2000", at_least(1), Medium, read_only, acts
        => "Most partitions in one answer to DescribeTopicPartitions.";
    "num.io.threads": Int = "8", at_least(1), High, cluster_wide, not_here
        => THREADS;
    "num.network.threads": Int = "3", at_least(1), High, cluster_wide, not_here
        => THREADS;
    "producer.purgatory.purge.interval.requests": Int = "1000", ANY, Medium, read_only, not_here
        => PURGATORY;
    "queued.max.request.bytes": Long = "-1", ANY, Medium, read_only, not_here
        => QUEUED;
    "queued.max.requests": Int = "500", at_least(1), High, read_only, not_here
        => QUEUED;
    "request.timeout.ms": Int = "30000", ANY, High, read_only, not_here
        => OUTGOING;
    "socket.connection.setup.timeout.max.ms": Long = "30000", ANY, Medium, read_only, not_here
        => OUTGOING;
    "socket.connection.setup.timeout.ms": Long = "10000", ANY, Medium, read_only, not_here
        => OUTGOING;
    "socket.listen.backlog.size": Int = "50", at_least(1), Medium, read_only, acts
        => "Most connections that wait to be accepted.";
    "socket.receive.buffer.bytes": Int = "102400", ANY, High, read_only, acts
        => "Receive buffer of each connection (SO_RCVBUF); -1 leaves it to the system.";
    "socket.request.max.bytes": Int = "104857600", at_least(1), High, read_only, acts
        => "Largest request in bytes. A connection that announces a larger one is closed.";
    "socket.send.buffer.bytes": Int = "102400", ANY, High, read_only, acts
        => "Send buffer of each connection (SO_SNDBUF); -1 leaves it to the system.";
};
