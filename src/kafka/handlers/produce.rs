//! Produce (0), versions 3-13. KIP-98, KIP-110, KIP-219, KIP-467, KIP-482, KIP-516, KIP-890, KIP-951.
//!
//! acks=0 answers nothing; an error there closes the connection. Up to version 11 the partitions of a transactional batch must
//! have been added to the transaction, from version 12 on writing to them adds them (KIP-890).

use std::time::Duration;

use smallvec::SmallVec;

use crate::broker::topics::is_internal;
use crate::broker::{
    Acks, Broker, Lookup, PartitionAppendError, Produce, ProduceBatch, ProduceError,
    ProduceTransaction, Produced, Step,
};
use crate::coordinator::TransactionalId;
use crate::coordinator::transactions::TransactionError;
use crate::kafka::codec::TopicKey;
use crate::kafka::codec::produce::{PartitionAnswer, ProduceRequest, ProduceResponse};
use crate::kafka::{Disconnect, ErrorCode, Outcome, Request, Response, append_errors};
use crate::log::{AppendError, Appended, BatchRejection, begins_transactional};
use crate::types::{Offset, PartitionIndex, TopicId, TransactionVersion};

/// The client id that may write to internal topics (Kafka's `AdminUtils.ADMIN_CLIENT_ID`).
const ADMIN_CLIENT: &str = "__admin_client";

/// First version that may carry zstd.
const ZSTD_FROM: i16 = 7;

/// First version that knows TRANSACTION_ABORTABLE.
const ABORTABLE_FROM: i16 = 11;

/// First version that adds partitions to transactions.
const TRANSACTION_V2_FROM: i16 = 12;

/// Answers a Produce request.
pub fn handle(request: Request) -> Outcome {
    let body = match ProduceRequest::parse(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    if let Err(refusal) = look_at_first_batches(&body) {
        return refuse(&request, &body, &refusal);
    }
    let step = request.broker.produce(Produce {
        acks: acks_of(body.acks),
        timeout: Duration::from_millis(u64::try_from(body.timeout_ms).unwrap_or(0)),
        zstd_allowed: request.version >= ZSTD_FROM,
        transaction: transaction(&request, &body),
        batches: batches(&request, &body),
    });
    match step {
        Step::Now(produced) => {
            let reply = Reply { request: &request, acks: body.acks };
            reply.encode(topics(&body), body.topics, body.partitions, &produced)
        }
        // The reply needs the names alone: the frame with all its records must not stay while the disk is at work.
        later => {
            let (shape, acks) = (Shape::of(&body), body.acks);
            drop(body);
            reply_later(later, Request { body: bytes::Bytes::new(), ..request }, acks, shape)
        }
    }
}

fn reply_later(step: Step<Produced>, request: Request, acks: i16, shape: Shape) -> Outcome {
    match step {
        Step::Now(produced) => {
            let reply = Reply { request: &request, acks };
            reply.encode(shape.topics(), shape.0.len(), produced.len(), &produced)
        }
        Step::Later(produced) => Outcome::Later(Box::pin(async move {
            let produced = produced.await;
            let reply = Reply { request: &request, acks };
            Ok(reply.response(shape.topics(), shape.0.len(), produced.len(), &produced))
        })),
        Step::Serial(effect) => {
            Outcome::Serial(Box::pin(
                async move { reply_later(effect.await, request, acks, shape) },
            ))
        }
    }
}

fn acks_of(acks: i16) -> Acks {
    match acks {
        0 => Acks::None,
        1 => Acks::Leader,
        -1 => Acks::All,
        _ => Acks::Undefined,
    }
}

fn transaction(request: &Request, body: &ProduceRequest) -> Option<ProduceTransaction> {
    let is_v2 = request.version >= TRANSACTION_V2_FROM;
    let version = if is_v2 { TransactionVersion::V2 } else { TransactionVersion::V1 };
    body.transactional_id().map(|id| ProduceTransaction { id: TransactionalId::new(id), version })
}

fn batches(request: &Request, body: &ProduceRequest) -> Vec<ProduceBatch> {
    let broker = &request.broker;
    let mut batches = Vec::with_capacity(body.partitions);
    for topic in body.topics() {
        let barred = is_barred(request, topic.topic);
        for partition in topic.partitions() {
            let lookup = find(broker, topic.topic, partition.index);
            let records = partition.records.map(|records| body.share(records)).unwrap_or_default();
            let batch = ProduceBatch::new(lookup, records);
            batches.push(if barred { batch.to_internal_topic() } else { batch });
        }
    }
    batches
}

fn find(broker: &Broker, topic: TopicKey<'_>, index: PartitionIndex) -> Lookup {
    match topic {
        TopicKey::Name(name) => broker.find_by_name(name, index),
        TopicKey::Id(id) => broker.find_by_id(id, index),
    }
}

/// True for the topics of the coordinators: what lies there is theirs to write. Kafka lets its own tools through, by the name
/// that they give themselves.
fn is_barred(request: &Request, topic: TopicKey<'_>) -> bool {
    let internal = match topic {
        TopicKey::Name(name) => is_internal(name),
        TopicKey::Id(id) => {
            let image = request.broker.metadata.image();
            image.topic_by_id(id).is_some_and(|topic| is_internal(topic.name.as_str()))
        }
    };
    internal && &*request.client_id != ADMIN_CLIENT
}

/// Why a request is refused as a whole.
struct Refusal {
    code: ErrorCode,
    message: Option<String>,
}

/// Kafka wants to know first whether anything belongs to a transaction. It finds out from the first batch of each partition, until
/// one does; what is no batch fails the whole request there.
fn look_at_first_batches(body: &ProduceRequest) -> Result<(), Refusal> {
    for records in body.topics().flat_map(|topic| topic.partitions()).filter_map(|p| p.records) {
        let is_transactional = begins_transactional(records).map_err(|rejection| Refusal {
            code: ErrorCode::CorruptMessage,
            message: Some(rejection.to_string()),
        })?;
        match body.transactional_id() {
            _ if !is_transactional => {}
            Some(_) => return Ok(()),
            None => {
                let code = ErrorCode::TransactionalIdAuthorizationFailed;
                return Err(Refusal { code, message: None });
            }
        }
    }
    Ok(())
}

/// The topic is unknown, or only its partition is.
fn unknown(broker: &Broker, topic: TopicKey<'_>) -> ErrorCode {
    match topic {
        TopicKey::Id(id) if broker.metadata.image().topic_by_id(id).is_none() => {
            ErrorCode::UnknownTopicId
        }
        TopicKey::Id(_) | TopicKey::Name(_) => ErrorCode::UnknownTopicOrPartition,
    }
}

/// The same error for every partition.
fn refuse(request: &Request, body: &ProduceRequest, refusal: &Refusal) -> Outcome {
    if body.acks == 0 {
        let code = refusal.code;
        return Outcome::Close(Disconnect(format!("a Produce request with acks=0 failed: {code}")));
    }
    let mut response = ProduceResponse::new(request.version, body.topics, body.partitions);
    for topic in body.topics() {
        response.topic(topic.topic, topic.partitions);
        for partition in topic.partitions() {
            response.partition(&PartitionAnswer {
                error_message: refusal.message.as_deref(),
                ..PartitionAnswer::failed(partition.index, refusal.code)
            });
        }
    }
    Outcome::Ready(response.finish(0))
}

/// Topics and partitions of a request without its records.
struct Shape(SmallVec<[TopicShape; 1]>);

struct TopicShape {
    key: OwnedKey,
    partitions: SmallVec<[PartitionIndex; 4]>,
}

enum OwnedKey {
    Name(Box<str>),
    Id(TopicId),
}

impl Shape {
    fn of(body: &ProduceRequest) -> Self {
        let shape = |topic: crate::kafka::codec::produce::TopicData<'_>| TopicShape {
            key: match topic.topic {
                TopicKey::Name(name) => OwnedKey::Name(name.into()),
                TopicKey::Id(id) => OwnedKey::Id(id),
            },
            partitions: topic.partitions().map(|partition| partition.index).collect(),
        };
        Self(body.topics().map(shape).collect())
    }

    fn topics(&self) -> impl Iterator<Item = (TopicKey<'_>, usize, PartitionIndices<'_>)> {
        self.0.iter().map(|topic| {
            let key = match &topic.key {
                OwnedKey::Name(name) => TopicKey::Name(name),
                OwnedKey::Id(id) => TopicKey::Id(*id),
            };
            let indices: PartitionIndices<'_> = Box::new(topic.partitions.iter().copied());
            (key, topic.partitions.len(), indices)
        })
    }
}

type PartitionIndices<'a> = Box<dyn Iterator<Item = PartitionIndex> + 'a>;

fn topics(
    body: &ProduceRequest,
) -> impl Iterator<Item = (TopicKey<'_>, usize, impl Iterator<Item = PartitionIndex>)> {
    body.topics().map(|topic| {
        (topic.topic, topic.partitions, topic.partitions().map(|partition| partition.index))
    })
}

/// What turns results into a response.
struct Reply<'a> {
    request: &'a Request,
    acks: i16,
}

impl Reply<'_> {
    fn encode<'t, I>(
        &self,
        topics: impl Iterator<Item = (TopicKey<'t>, usize, I)>,
        topic_count: usize,
        partition_count: usize,
        produced: &Produced,
    ) -> Outcome
    where
        I: Iterator<Item = PartitionIndex>,
    {
        if self.acks != 0 {
            let response = self.response(topics, topic_count, partition_count, produced);
            return Outcome::Ready(response);
        }
        match produced.iter().find_map(|result| result.as_ref().err()) {
            Some(error) => {
                Outcome::Close(Disconnect(format!("a Produce request with acks=0 failed: {error}")))
            }
            None => Outcome::NoReply,
        }
    }

    fn response<'t, I>(
        &self,
        topics: impl Iterator<Item = (TopicKey<'t>, usize, I)>,
        topic_count: usize,
        partition_count: usize,
        produced: &Produced,
    ) -> Response
    where
        I: Iterator<Item = PartitionIndex>,
    {
        let mut response = ProduceResponse::new(self.request.version, topic_count, partition_count);
        let mut results = produced.iter();
        for (key, partitions, indices) in topics {
            response.topic(key, partitions);
            for (index, result) in indices.zip(results.by_ref()) {
                match result {
                    Ok(appended) => response.partition(&success(index, appended)),
                    Err(error) => self.failure(&mut response, key, index, error),
                }
            }
        }
        response.finish(0)
    }

    fn failure(
        &self,
        response: &mut ProduceResponse,
        key: TopicKey<'_>,
        index: PartitionIndex,
        error: &ProduceError,
    ) {
        let code = match code(error, self.request.version) {
            ErrorCode::UnknownTopicOrPartition => unknown(&self.request.broker, key),
            code => code,
        };
        let records: Vec<(i32, Option<&str>)> = record_errors(error)
            .iter()
            .map(|(position, reason)| (*position, Some(reason.as_str())))
            .collect();
        let message = has_message(error, code).then(|| error.to_string());
        let log_start = self.log_start(key, index).filter(|_| tells_log_start(error));
        response.partition(&PartitionAnswer {
            record_errors: &records,
            error_message: message.as_deref(),
            log_start: log_start.unwrap_or(Offset::NONE),
            ..PartitionAnswer::failed(index, code)
        });
    }

    /// Of a log that is open: one that refused a batch is.
    fn log_start(&self, key: TopicKey<'_>, index: PartitionIndex) -> Option<Offset> {
        match find(&self.request.broker, key, index) {
            Lookup::Open(partition) => Some(partition.ends().view.log_start),
            Lookup::Closed(_) | Lookup::Unknown => None,
        }
    }
}

fn success(index: PartitionIndex, appended: &Appended) -> PartitionAnswer<'static> {
    PartitionAnswer {
        base_offset: appended.base_offset,
        log_append_time: appended.log_append_time,
        log_start: appended.log_start,
        ..PartitionAnswer::failed(index, ErrorCode::None)
    }
}

/// Kafka has words about records, about several producers, and where a code stands for another that older clients would not take
/// well.
fn has_message(error: &ProduceError, code: ErrorCode) -> bool {
    let is_translated = matches!(code, ErrorCode::InvalidTxnState | ErrorCode::NotEnoughReplicas);
    match error {
        ProduceError::Transaction(_) => is_translated,
        ProduceError::SeveralProducers => true,
        _ => !record_errors(error).is_empty(),
    }
}

/// Kafka tells where the log begins if the log has refused the batch, but for a few errors, and not where the request was wrong
/// before that (`ReplicaManager.appendRecordsToLocalLog`).
fn tells_log_start(error: &ProduceError) -> bool {
    match error {
        ProduceError::Rejected(rejection) => match rejection {
            BatchRejection::InvalidRecord { .. }
            | BatchRejection::InvalidTimestamp { .. }
            | BatchRejection::UnknownCodec(_) => true,
            BatchRejection::NotOneBatch(_)
            | BatchRejection::NoMemory
            | BatchRejection::Corrupt(_)
            | BatchRejection::TooLarge(_)
            | BatchRejection::LargerThanSegment(_)
            | BatchRejection::UnsupportedCompression(_) => false,
        },
        ProduceError::Append(PartitionAppendError::Log(refusal)) => {
            !matches!(refusal, AppendError::NoRoom(_) | AppendError::Io(_))
        }
        ProduceError::Append(PartitionAppendError::Retired | PartitionAppendError::Offline)
        | ProduceError::UnknownPartition
        | ProduceError::Open(_)
        | ProduceError::Transaction(_)
        | ProduceError::SeveralProducers
        | ProduceError::UndefinedAcks
        | ProduceError::InternalTopic
        | ProduceError::SyncFailed
        | ProduceError::TimedOut => false,
    }
}

fn record_errors(error: &ProduceError) -> &[(i32, String)] {
    match error {
        ProduceError::Rejected(
            BatchRejection::InvalidRecord { records, .. }
            | BatchRejection::InvalidTimestamp { records, .. },
        ) => records,
        _ => &[],
    }
}

fn code(error: &ProduceError, version: i16) -> ErrorCode {
    match error {
        ProduceError::UnknownPartition => ErrorCode::UnknownTopicOrPartition,
        ProduceError::Rejected(rejection) => match rejection {
            BatchRejection::NoMemory => ErrorCode::KafkaStorageError,
            BatchRejection::Corrupt(_) => ErrorCode::CorruptMessage,
            BatchRejection::NotOneBatch(_) | BatchRejection::InvalidRecord { .. } => {
                ErrorCode::InvalidRecord
            }
            BatchRejection::InvalidTimestamp { .. } => ErrorCode::InvalidTimestamp,
            BatchRejection::TooLarge(_) => ErrorCode::MessageTooLarge,
            BatchRejection::LargerThanSegment(_) => ErrorCode::RecordListTooLarge,
            BatchRejection::UnsupportedCompression(_) | BatchRejection::UnknownCodec(_) => {
                ErrorCode::UnsupportedCompressionType
            }
        },
        ProduceError::Append(refusal) => append_errors::code(refusal),
        ProduceError::Open(_) | ProduceError::SyncFailed => ErrorCode::KafkaStorageError,
        ProduceError::TimedOut => ErrorCode::RequestTimedOut,
        ProduceError::Transaction(refusal) => transaction_code(*refusal, version),
        ProduceError::SeveralProducers => ErrorCode::InvalidProducerIdMapping,
        ProduceError::UndefinedAcks => ErrorCode::InvalidRequiredAcks,
        ProduceError::InternalTopic => ErrorCode::InvalidTopicException,
    }
}

/// Producers expect other codes here than from the coordinator itself: what only takes time is NOT_ENOUGH_REPLICAS, which all of
/// them try again, without asking for metadata.
fn transaction_code(refusal: TransactionError, version: i16) -> ErrorCode {
    match refusal {
        TransactionError::InvalidRequest => ErrorCode::InvalidRequest,
        TransactionError::InvalidTimeout => ErrorCode::InvalidTransactionTimeout,
        TransactionError::InvalidProducerIdMapping => ErrorCode::InvalidProducerIdMapping,
        TransactionError::ProducerFenced => ErrorCode::InvalidProducerEpoch,
        TransactionError::ConcurrentTransactions if version >= TRANSACTION_V2_FROM => {
            ErrorCode::ConcurrentTransactions
        }
        TransactionError::ConcurrentTransactions | TransactionError::NotAvailable => {
            ErrorCode::NotEnoughReplicas
        }
        TransactionError::Abortable if version >= ABORTABLE_FROM => ErrorCode::TransactionAbortable,
        TransactionError::Abortable | TransactionError::InvalidState => ErrorCode::InvalidTxnState,
        TransactionError::NotFound => ErrorCode::TransactionalIdNotFound,
    }
}
