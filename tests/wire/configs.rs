//! Configs over a socket: they take effect, and describing them costs no more than it may. What Kafka answers to each request is
//! compared in `admin.rs`.

use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::list_config_resources_response::ConfigResource;
use kafka_protocol::messages::{
    DescribeConfigsRequest, DescribeConfigsResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse, ListConfigResourcesRequest, ListConfigResourcesResponse,
};

use crate::calls::Session;
use crate::connections::ping;
use crate::member::text;
use crate::peer::{Peer, api, request};
use crate::records::batch;

const API_VERSIONS: i16 = 18;
const DESCRIBE_CONFIGS: i16 = 32;
const INCREMENTAL_ALTER_CONFIGS: i16 = 44;
const LIST_CONFIG_RESOURCES: i16 = 74;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const GROUP: i8 = 32;

const NONE: i16 = 0;
const MESSAGE_TOO_LARGE: i16 = 10;
const UNSUPPORTED_VERSION: i16 = 35;
const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;
const POLICY_VIOLATION: i16 = 44;

async fn set(session: &mut Session, kind: i8, name: &str, key: &str, value: Option<&str>) {
    let (code, message) = try_set(session, kind, name, key, value).await;
    assert_eq!(code, NONE, "{message}");
}

/// Error code and text.
async fn try_set(
    session: &mut Session,
    kind: i8,
    name: &str,
    key: &str,
    value: Option<&str>,
) -> (i16, String) {
    let (set, delete) = (0, 1);
    let config = AlterableConfig::default()
        .with_name(text(key))
        .with_config_operation(if value.is_some() { set } else { delete })
        .with_value(value.map(text));
    let resource = AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configs(vec![config]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    let answer: IncrementalAlterConfigsResponse =
        session.call(INCREMENTAL_ALTER_CONFIGS, 1, &request).await;
    let answer = &answer.responses[0];
    (answer.error_code, answer.error_message.as_deref().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn configs_take_effect_when_they_are_answered() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    let large = batch(&[&[b'x'; 2000]]);
    let produced =
        async |session: &mut Session| session.produce("t", 0, large.clone()).await.error_code;
    assert_eq!(produced(&mut session).await, NONE);
    set(&mut session, TOPIC, "t", "max.message.bytes", Some("1000")).await;
    assert_eq!(produced(&mut session).await, MESSAGE_TOO_LARGE);
    set(&mut session, TOPIC, "t", "max.message.bytes", None).await;
    assert_eq!(produced(&mut session).await, NONE);
    set(&mut session, BROKER, "", "message.max.bytes", Some("1000")).await;
    assert_eq!(produced(&mut session).await, MESSAGE_TOO_LARGE, "the default of all brokers");
    set(&mut session, BROKER, "1", "message.max.bytes", Some("5000")).await;
    assert_eq!(produced(&mut session).await, NONE, "this broker's own value is stronger");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_has_configs_before_it_exists() {
    let mut session = Session::start().await;
    let key = "consumer.session.timeout.ms";
    let described = async |session: &mut Session| {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(GROUP)
            .with_resource_name(text("g"))
            .with_configuration_keys(Some(vec![text(key)]));
        let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
        let answer: DescribeConfigsResponse = session.call(DESCRIBE_CONFIGS, 4, &request).await;
        let config = &answer.results[0].configs[0];
        (config.value.as_deref().unwrap_or_default().to_owned(), config.config_source)
    };
    let (of_the_group, default) = (8, 5);
    assert_eq!(described(&mut session).await, ("45000".to_owned(), default));
    set(&mut session, GROUP, "g", key, Some("50000")).await;
    assert_eq!(described(&mut session).await, ("50000".to_owned(), of_the_group));
    let (code, message) = try_set(&mut session, GROUP, "g", key, Some("60001")).await;
    assert_eq!(
        (code, &*message),
        (
            INVALID_CONFIG,
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."
        )
    );
    let (code, message) = try_set(&mut session, GROUP, "", key, Some("50000")).await;
    assert_eq!((code, &*message), (INVALID_REQUEST, "Default group resources are not allowed."));
    assert_eq!(listed(&mut session, &[GROUP]).await, [("g".to_owned(), GROUP)]);
    set(&mut session, GROUP, "g", key, None).await;
    assert_eq!(described(&mut session).await, ("45000".to_owned(), default));
    assert_eq!(listed(&mut session, &[GROUP]).await, []);
    session.broker.stop().await;
}

/// Name and type of what there is to configure.
async fn listed(session: &mut Session, types: &[i8]) -> Vec<(String, i8)> {
    let request = ListConfigResourcesRequest::default().with_resource_types(types.to_vec());
    let answer: ListConfigResourcesResponse =
        session.call(LIST_CONFIG_RESOURCES, 1, &request).await;
    assert_eq!(answer.error_code, NONE);
    let resource = |r: ConfigResource| (r.resource_name.to_string(), r.resource_type);
    answer.config_resources.into_iter().map(resource).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_configured_is_listed_by_type() {
    let mut session = Session::start().await;
    session.create("t", 1, &[]).await;
    set(&mut session, GROUP, "g", "consumer.session.timeout.ms", Some("50000")).await;
    let all = [("g", GROUP), ("1", BROKER_LOGGER), ("1", BROKER), ("t", TOPIC)];
    let all = all.map(|(name, kind)| (name.to_owned(), kind));
    assert_eq!(listed(&mut session, &[]).await, all);
    assert_eq!(listed(&mut session, &[TOPIC, BROKER]).await, all[2..]);
    let subscriptions = ListConfigResourcesRequest::default();
    let answer: ListConfigResourcesResponse =
        session.call(LIST_CONFIG_RESOURCES, 0, &subscriptions).await;
    assert_eq!((answer.error_code, answer.config_resources.len()), (NONE, 0));
    let unknown = ListConfigResourcesRequest::default().with_resource_types(vec![3]);
    let answer: ListConfigResourcesResponse =
        session.call(LIST_CONFIG_RESOURCES, 1, &unknown).await;
    assert_eq!(answer.error_code, UNSUPPORTED_VERSION);
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_connections_change_while_the_broker_runs() {
    let mut session = Session::start().await;
    let address = session.broker.address;
    set(&mut session, BROKER, "", "max.connections.per.ip", Some("1")).await;
    Peer::connect(address).await.closed().await;
    set(&mut session, BROKER, "", "max.connections.per.ip.overrides", Some("127.0.0.1:2")).await;
    let mut second = Peer::connect(address).await;
    assert!(ping(&mut second).await, "one more for this address");
    set(&mut session, BROKER, "", "max.connections.per.ip.overrides", None).await;
    set(&mut session, BROKER, "", "max.connections.per.ip", None).await;
    set(&mut session, BROKER, "1", "max.connections", Some("2")).await;
    let mut third = Peer::connect(address).await;
    third.send_frame(&request(api(API_VERSIONS), 0, 1, &[])).await;
    assert!(ping(&mut second).await, "those that are open stay");
    set(&mut session, BROKER, "1", "max.connections", Some("3")).await;
    assert!(third.frame().await.is_some(), "whoever waits is let in");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_restart_changes_is_refused_and_not_ignored() {
    let mut session = Session::start().await;
    for (key, value) in [
        ("listeners", "PLAINTEXT://127.0.0.1:1"),
        ("listener.security.protocol.map", "A:PLAINTEXT"),
        ("ssl.keystore.location", "/k"),
    ] {
        let (code, message) = try_set(&mut session, BROKER, "1", key, Some(value)).await;
        let expected = format!(
            "These configs are not changed while the broker runs, set them where it is started: [{key}]"
        );
        assert_eq!((code, message), (INVALID_REQUEST, expected));
    }
    let overrides = "max.connections.per.ip.overrides";
    let (code, message) = try_set(&mut session, BROKER, "", overrides, Some("nonsense")).await;
    assert_eq!(code, INVALID_REQUEST);
    assert!(message.contains("no pair of an IP address and a count"), "{message}");
    session.broker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_request_cannot_ask_for_an_answer_of_any_length() {
    let mut session = Session::start().await;
    let resource = DescribeConfigsResource::default()
        .with_resource_type(BROKER)
        .with_resource_name(text("1"))
        .with_configuration_keys(None);
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource; 1000])
        .with_include_documentation(true)
        .with_include_synonyms(true);
    let answer: DescribeConfigsResponse = session.call(DESCRIBE_CONFIGS, 4, &request).await;
    let described = answer.results.iter().take_while(|result| result.error_code == NONE).count();
    assert_eq!(answer.results.len(), 1000);
    assert!(described > 100, "{described} resources fit");
    let rest = &answer.results[described..];
    assert!(!rest.is_empty(), "all resources fit");
    assert!(rest.iter().all(|r| r.error_code == POLICY_VIOLATION && r.configs.is_empty()));
    session.broker.stop().await;
}
