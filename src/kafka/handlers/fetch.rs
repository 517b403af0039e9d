//! Fetch (1), versions 4-18. KIP-74, KIP-98, KIP-227, KIP-320, KIP-392, KIP-482, KIP-516, KIP-595, KIP-903, KIP-951,
//! KIP-1166.
//!
//! There is one replica: no preferred one is ever named, and a request that claims to come from a replica is answered as a
//! consumer's.

use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::FetchPartition as AskedPartition;

use crate::broker::fetch_sessions::{
    Answer, Included, MustSend, SessionAsk, SessionError, SessionFetch, SessionPartition,
    SessionRequest, SessionTopic,
};
use crate::broker::{
    Broker, Fetch, FetchError, FetchPartition, Fetched, FetchedPartitions, Lookup,
};
use crate::kafka::codec::TopicKey;
use crate::kafka::codec::fetch::{FetchHead, FetchPartition as Answered, FetchResponse};
use crate::kafka::{ErrorCode, Outcome, Request, Response, codec, read_errors};
use crate::log::Isolation;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId};

/// First version with sessions.
const SESSIONS_FROM: i16 = 7;
/// First version that names topics by id.
const TOPIC_IDS_FROM: i16 = 13;
/// First version that knows KAFKA_STORAGE_ERROR.
const STORAGE_ERROR_FROM: i16 = 6;

/// Answers a Fetch request.
pub fn handle(request: Request) -> Outcome {
    let body = match codec::fetch::request(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let now = broker.env.clock.monotonic();
    let session = match broker.fetch_sessions.begin(session_request(&body, version), now) {
        Ok(session) => session,
        Err(error) => return Outcome::Ready(refused(version, error)),
    };
    let is_unknown = |(partition, _): &(SessionPartition, SessionAsk)| {
        matches!(find(&broker, partition), Lookup::Unknown)
    };
    let isolation = match isolation(body.isolation_level) {
        Some(isolation) => isolation,
        // Kafka fails at it where it comes to reading.
        None if session.partitions.iter().all(is_unknown) => Isolation::ReadUncommitted,
        None => return Outcome::Ready(without_isolation(version, &body)),
    };
    let step = broker.fetch(fetch(&broker, &body, isolation, &session));
    Outcome::of_step(step, move |fetched| Ok(Reply { version, broker }.response(session, fetched)))
}

fn session_request(body: &FetchRequest, version: i16) -> SessionRequest {
    let mut asked = Vec::new();
    for topic in &body.topics {
        let key = session_topic(version, &topic.topic, topic.topic_id.into_bytes());
        asked.extend(topic.partitions.iter().map(|partition| {
            let index = PartitionIndex::new(partition.partition);
            let key = SessionPartition { topic: key.clone(), partition: index };
            (key, session_ask(partition))
        }));
    }
    let mut forgotten = Vec::new();
    for topic in &body.forgotten_topics_data {
        let key = session_topic(version, &topic.topic, topic.topic_id.into_bytes());
        forgotten.extend(topic.partitions.iter().map(|&partition| SessionPartition {
            topic: key.clone(),
            partition: PartitionIndex::new(partition),
        }));
    }
    let sessions = version >= SESSIONS_FROM;
    SessionRequest {
        session_id: if sessions { body.session_id } else { 0 },
        epoch: if sessions { body.session_epoch } else { -1 },
        uses_topic_ids: version >= TOPIC_IDS_FROM,
        asked,
        forgotten,
    }
}

fn session_topic(version: i16, name: &str, id: [u8; 16]) -> SessionTopic {
    if version >= TOPIC_IDS_FROM {
        SessionTopic::Id(TopicId::from_bytes(id))
    } else {
        SessionTopic::Name(name.into())
    }
}

fn session_ask(partition: &AskedPartition) -> SessionAsk {
    SessionAsk {
        offset: Offset::new(partition.fetch_offset),
        current_leader_epoch: epoch(partition.current_leader_epoch),
        last_fetched_epoch: epoch(partition.last_fetched_epoch),
        bytes_max: partition.partition_max_bytes,
    }
}

/// Every negative one is none.
fn epoch(told: i32) -> LeaderEpoch {
    LeaderEpoch::new(told.max(LeaderEpoch::NONE.get()))
}

/// `None` for a level that there is not.
fn isolation(level: i8) -> Option<Isolation> {
    match level {
        0 => Some(Isolation::ReadUncommitted),
        1 => Some(Isolation::ReadCommitted),
        _ => None,
    }
}

/// Kafka's answer where it fails: every partition as long as topics go by name, else none.
fn without_isolation(version: i16, body: &FetchRequest) -> Response {
    let error = ErrorCode::UnknownServerError;
    let head = FetchHead { throttle_ms: 0, error, session_id: body.session_id };
    if version >= TOPIC_IDS_FROM {
        return FetchResponse::new(version, head, 0, 0).finish();
    }
    let partitions = body.topics.iter().map(|topic| topic.partitions.len()).sum();
    let mut response = FetchResponse::new(version, head, body.topics.len(), partitions);
    for topic in &body.topics {
        response.topic(TopicKey::Name(&topic.topic), topic.partitions.len());
        for asked in &topic.partitions {
            let failed = Answered::failed(PartitionIndex::new(asked.partition), error);
            response.partition(&Answered { aborted: Some(&[]), ..failed }, Default::default());
        }
    }
    response.finish()
}

fn fetch(
    broker: &Broker,
    body: &FetchRequest,
    isolation: Isolation,
    session: &SessionFetch,
) -> Fetch {
    let bytes_max = bytes(body.max_bytes.min(broker.settings.fetch_max_bytes));
    let partitions = session.partitions.iter().map(|(partition, ask)| FetchPartition {
        partition: find(broker, partition),
        offset: ask.offset,
        current_leader_epoch: ask.current_leader_epoch,
        last_fetched_epoch: ask.last_fetched_epoch,
        bytes_max: bytes(ask.bytes_max),
    });
    Fetch {
        wait: Duration::from_millis(u64::try_from(body.max_wait_ms).unwrap_or(0)),
        bytes_min: bytes(body.min_bytes).min(bytes_max),
        bytes_max,
        isolation,
        partitions: partitions.collect(),
    }
}

/// Negative sizes count as none.
fn bytes(size: i32) -> usize {
    usize::try_from(size).unwrap_or(0)
}

fn find(broker: &Broker, partition: &SessionPartition) -> Lookup {
    match &partition.topic {
        SessionTopic::Name(name) => broker.find_by_name(name, partition.partition),
        SessionTopic::Id(id) => broker.find_by_id(*id, partition.partition),
    }
}

fn refused(version: i16, error: SessionError) -> Response {
    let error = match error {
        SessionError::NotFound => ErrorCode::FetchSessionIdNotFound,
        SessionError::WrongEpoch => ErrorCode::InvalidFetchSessionEpoch,
        SessionError::TopicIds => ErrorCode::FetchSessionTopicIdError,
    };
    let head = FetchHead { throttle_ms: 0, error, session_id: 0 };
    FetchResponse::new(version, head, 0, 0).finish()
}

/// What turns results into a response.
struct Reply {
    version: i16,
    broker: Arc<Broker>,
}

impl Reply {
    fn response(&self, session: SessionFetch, fetched: FetchedPartitions) -> Response {
        let names: Vec<SessionPartition> =
            session.partitions.iter().map(|(partition, _)| partition.clone()).collect();
        let answers: Vec<Answer> = fetched.iter().map(session_answer).collect();
        let env = &self.broker.env;
        let (sessions, now) = (&self.broker.fetch_sessions, env.clock.monotonic());
        let reply = match session.finish(sessions, &answers, now, env.random.as_ref()) {
            Ok(reply) => reply,
            Err(error) => return refused(self.version, error),
        };
        let included = |place: usize| match &reply.included {
            Included::All => true,
            Included::Marked(marks) => marks.get(place).copied().unwrap_or(false),
        };
        let sent = names.into_iter().zip(fetched).enumerate();
        let sent = sent.filter(|(place, _)| included(*place)).map(|(_, answer)| answer).collect();
        self.encode(reply.session_id, sent)
    }

    fn encode(
        &self,
        session_id: i32,
        sent: Vec<(SessionPartition, Result<Fetched, FetchError>)>,
    ) -> Response {
        let runs = runs(&sent);
        let head = FetchHead { throttle_ms: 0, error: ErrorCode::None, session_id };
        let mut response = FetchResponse::new(self.version, head, runs.len(), sent.len());
        let mut sent = sent.into_iter();
        for run in runs {
            for (place, (partition, result)) in sent.by_ref().take(run).enumerate() {
                if place == 0 {
                    response.topic(topic_key(&partition.topic), run);
                }
                self.partition(&mut response, &partition, result);
            }
        }
        response.finish()
    }

    fn partition(
        &self,
        response: &mut FetchResponse,
        partition: &SessionPartition,
        result: Result<Fetched, FetchError>,
    ) {
        match result {
            Ok(fetched) => {
                let diverging = fetched.diverging.map(|epoch_end| (epoch_end.epoch, epoch_end.end));
                let answered = Answered {
                    high_watermark: fetched.high_watermark,
                    last_stable_offset: fetched.last_stable_offset,
                    log_start: fetched.log_start,
                    aborted: fetched.aborted.as_deref(),
                    diverging_epoch: diverging,
                    ..Answered::failed(partition.partition, ErrorCode::None)
                };
                response.partition(&answered, fetched.records);
            }
            Err(error) => {
                let code = self.code(error, &partition.topic);
                // As Kafka has it: null where a read failed, nothing aborted where there is nothing to read.
                let aborted = (error == FetchError::UnknownPartition).then_some(&[][..]);
                let answered = Answered { aborted, ..Answered::failed(partition.partition, code) };
                response.partition(&answered, Default::default());
            }
        }
    }

    fn code(&self, error: FetchError, topic: &SessionTopic) -> ErrorCode {
        match (error, topic) {
            (FetchError::Storage, _) if self.version < STORAGE_ERROR_FROM => {
                ErrorCode::NotLeaderOrFollower
            }
            (FetchError::UnknownPartition, SessionTopic::Id(id))
                if self.broker.metadata.image().topic_by_id(*id).is_none() =>
            {
                ErrorCode::UnknownTopicId
            }
            _ => read_errors::code(error),
        }
    }
}

fn session_answer(result: &Result<Fetched, FetchError>) -> Answer {
    match result {
        Ok(fetched) => Answer {
            bytes: fetched.records.len,
            high_watermark: fetched.high_watermark,
            log_start: fetched.log_start,
            must_send: match fetched.diverging {
                Some(_) => MustSend::Diverging,
                None => MustSend::IfNew,
            },
        },
        Err(_) => Answer {
            bytes: 0,
            high_watermark: Offset::NONE,
            log_start: Offset::NONE,
            must_send: MustSend::Error,
        },
    }
}

/// Lengths of the runs of partitions that share a topic, as the response groups them.
fn runs<T>(sent: &[(SessionPartition, T)]) -> Vec<usize> {
    sent.chunk_by(|(a, _), (b, _)| a.topic == b.topic).map(<[_]>::len).collect()
}

fn topic_key(topic: &SessionTopic) -> TopicKey<'_> {
    match topic {
        SessionTopic::Name(name) => TopicKey::Name(name),
        SessionTopic::Id(id) => TopicKey::Id(*id),
    }
}
