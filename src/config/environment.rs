//! Settings in environment variables, by the rule of Kafka's container image (`KafkaDockerWrapper`).

/// Variables that configure a JVM, the image's scripts or this project's tests and not the broker; ignored quietly.
const NOT_SETTINGS: &[&str] = &[
    "HIGHWATER_FUZZ_CASES",
    "HIGHWATER_FUZZ_SEED",
    "HIGHWATER_WRITE_DOCS",
    "KAFKA_CLUSTER_ID",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_HEAP_OPTS",
    "KAFKA_HOME",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_OPTS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_VERSION",
];

/// The setting that a variable sets, if it sets one: `KAFKA_NUM_PARTITIONS` is `num.partitions`,
/// `HIGHWATER_HTTP_LISTEN` is `highwater.http.listen`.
pub fn setting_of_variable(variable: &str) -> Option<String> {
    if NOT_SETTINGS.contains(&variable) {
        return None;
    }
    // The image of Kafka formats with it.
    if variable == "CLUSTER_ID" {
        return Some("highwater.cluster.id".to_owned());
    }
    if let Some(rest) = variable.strip_prefix("KAFKA_") {
        return Some(to_key(rest)).filter(|key| !key.is_empty());
    }
    let own = variable.strip_prefix("HIGHWATER_").filter(|rest| !rest.is_empty())?;
    Some(format!("highwater.{}", to_key(own)))
}

/// Lower case; `_` is a dot, `__` an underscore, `___` a hyphen.
fn to_key(name: &str) -> String {
    name.to_ascii_lowercase()
        .replace("___", "-")
        .replace("__", "\0")
        .replace('_', ".")
        .replace('\0', "_")
}
