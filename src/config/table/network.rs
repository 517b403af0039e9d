//! Connections, requests and threads.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "advertised.listeners": List = null, NON_EMPTY_LIST, High, read_only, acts
        => "Specifies the listener addresses that the Kafka brokers will advertise to clients and other \
            brokers.";
    "connection.failed.authentication.delay.ms": Int = "100", at_least(0), Low, read_only, later
        => "Connection close delay on failed authentication: this is the time (in milliseconds) by which \
            connection close will be delayed on authentication failure.";
    "connections.max.idle.ms": Long = "600000", ANY, Medium, read_only, acts
        => "Idle connections timeout: the server socket processor threads close the connections that idle \
            more than this.";
    "controller.listener.names": List = null, ANY, High, read_only, acts
        => "A comma-separated list of the names of the listeners used by the controller.";
    "delete.records.purgatory.purge.interval.requests": Int = "1", ANY, Medium, read_only, not_here
        => "The purge interval (in number of requests) of the delete records request purgatory.";
    "early.start.listeners": List = null, ANY, High, read_only, not_here
        => "A comma-separated list of listener names which may be started before the authorizer has finished \
            initialization.";
    "fetch.max.bytes": Int = "57671680", at_least(1024), Medium, read_only, acts
        => "The maximum number of bytes we will return for a fetch request.";
    "fetch.purgatory.purge.interval.requests": Int = "1000", ANY, Medium, read_only, not_here
        => "The purge interval (in number of requests) of the fetch request purgatory.";
    "inter.broker.listener.name": String = null, ANY, Medium, read_only, not_here
        => "Name of listener used for communication between brokers.";
    "listener.security.protocol.map": String = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", ANY, Low, per_broker, acts
        => "Map between listener names and security protocols.";
    "listeners": List = "PLAINTEXT://:9092", NON_EMPTY_LIST, High, per_broker, acts
        => "Listener List - Comma-separated list of URIs we will listen on and the listener names.";
    "max.connection.creation.rate": Int = "2147483647", at_least(0), Medium, cluster_wide, later
        => "The maximum connection creation rate we allow in the broker at any time.";
    "max.connections": Int = "2147483647", at_least(0), Medium, cluster_wide, acts
        => "The maximum number of connections we allow in the broker at any time.";
    "max.connections.per.ip": Int = "2147483647", at_least(0), Medium, cluster_wide, acts
        => "The maximum number of connections we allow from each ip address.";
    "max.connections.per.ip.overrides": String = "", ANY, Medium, cluster_wide, acts
        => "A comma-separated list of per-ip or hostname overrides to the default maximum number of \
            connections.";
    "max.incremental.fetch.session.cache.slots": Int = "1000", at_least(0), Medium, read_only, acts
        => "The maximum number of total incremental fetch sessions that we will maintain.";
    "max.request.partition.size.limit": Int = "2000", at_least(1), Medium, read_only, acts
        => "The maximum number of partitions can be served in one request.";
    "num.io.threads": Int = "8", at_least(1), High, cluster_wide, not_here
        => "The number of threads that the server uses for processing requests, which may include disk I/O.";
    "num.network.threads": Int = "3", at_least(1), High, cluster_wide, not_here
        => "The number of threads that the server uses for receiving requests from the network and sending \
            responses to the network.";
    "producer.purgatory.purge.interval.requests": Int = "1000", ANY, Medium, read_only, not_here
        => "The purge interval (in number of requests) of the producer request purgatory.";
    "queued.max.request.bytes": Long = "-1", ANY, Medium, read_only, not_here
        => "The number of queued bytes allowed before no more requests are read.";
    "queued.max.requests": Int = "500", at_least(1), High, read_only, not_here
        => "The number of queued requests allowed for data-plane, before blocking the network threads.";
    "request.timeout.ms": Int = "30000", ANY, High, read_only, not_here
        => "The configuration controls the maximum amount of time the client will wait for the response of a \
            request.";
    "socket.connection.setup.timeout.max.ms": Long = "30000", ANY, Medium, read_only, not_here
        => "The maximum amount of time the client will wait for the socket connection to be established.";
    "socket.connection.setup.timeout.ms": Long = "10000", ANY, Medium, read_only, not_here
        => "The amount of time the client will wait for the socket connection to be established.";
    "socket.listen.backlog.size": Int = "50", at_least(1), Medium, read_only, acts
        => "The maximum number of pending connections on the socket.";
    "socket.receive.buffer.bytes": Int = "102400", ANY, High, read_only, acts
        => "The SO_RCVBUF buffer of the socket server sockets.";
    "socket.request.max.bytes": Int = "104857600", at_least(1), High, read_only, acts
        => "The maximum number of bytes in a socket request.";
    "socket.send.buffer.bytes": Int = "102400", ANY, High, read_only, acts
        => "The SO_SNDBUF buffer of the socket server sockets.";
};
