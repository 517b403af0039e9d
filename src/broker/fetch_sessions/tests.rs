use super::*;
use crate::env::SeededRandom;

const START: Duration = Duration::from_secs(1000);

fn partition(number: i32) -> SessionPartition {
    SessionPartition {
        topic: SessionTopic::Name("t".into()),
        partition: PartitionIndex::new(number),
    }
}

fn ask(offset: i64) -> SessionAsk {
    SessionAsk {
        offset: Offset::new(offset),
        current_leader_epoch: LeaderEpoch::NONE,
        last_fetched_epoch: LeaderEpoch::NONE,
        bytes_max: 1000,
    }
}

fn request(session_id: i32, epoch: i32, asked: &[i32]) -> SessionRequest {
    SessionRequest {
        session_id,
        epoch,
        uses_topic_ids: false,
        asked: asked.iter().map(|&number| (partition(number), ask(0))).collect(),
        forgotten: Vec::new(),
    }
}

fn answer(bytes: usize, high_watermark: i64) -> Answer {
    Answer {
        bytes,
        high_watermark: Offset::new(high_watermark),
        log_start: Offset::ZERO,
        must_send: MustSend::IfNew,
    }
}

fn error() -> Answer {
    Answer {
        bytes: 0,
        high_watermark: Offset::NONE,
        log_start: Offset::NONE,
        must_send: MustSend::Error,
    }
}

struct Client {
    sessions: FetchSessions,
    random: SeededRandom,
    now: Duration,
}

impl Client {
    fn new(slots: usize) -> Self {
        Self { sessions: FetchSessions::new(slots), random: SeededRandom::new(7), now: START }
    }

    fn fetch(
        &self,
        request: SessionRequest,
        answers: &[Answer],
    ) -> Result<SessionReply, SessionError> {
        let fetch = self.sessions.begin(request, self.now)?;
        fetch.finish(&self.sessions, answers, self.now, &self.random)
    }

    /// Opens a session over `partitions` that are all empty.
    fn open(&self, partitions: &[i32]) -> i32 {
        let answers = vec![answer(0, 0); partitions.len()];
        self.fetch(request(0, 0, partitions), &answers).expect("a full fetch").session_id
    }
}

fn numbers(fetch: &SessionFetch) -> Vec<i32> {
    fetch.partitions.iter().map(|(partition, _)| partition.partition.get()).collect()
}

#[test]
fn a_full_fetch_opens_a_session_and_later_ones_send_only_what_is_new() {
    let client = Client::new(10);
    let id = client.open(&[0, 1, 2]);
    assert!(id > 0);
    let answers = [answer(0, 0), answer(10, 5), answer(0, 3)];
    let reply = client.fetch(request(id, 1, &[]), &answers).unwrap();
    assert_eq!(reply.session_id, id);
    assert_eq!(reply.included, Included::Marked(vec![false, true, true]));
    // 1 had records and went to the end: the order is 0, 2, 1 now.
    let reply = client.fetch(request(id, 2, &[]), &[answer(0, 0), answer(0, 3), answer(0, 5)]);
    assert_eq!(reply.unwrap().included, Included::Marked(vec![false, false, false]));
}

#[test]
fn partitions_that_got_records_are_served_last_next_time() {
    let client = Client::new(10);
    let id = client.open(&[0, 1, 2]);
    client.fetch(request(id, 1, &[]), &[answer(9, 1), answer(0, 0), answer(0, 0)]).unwrap();
    let fetch = client.sessions.begin(request(id, 2, &[]), START).unwrap();
    assert_eq!(numbers(&fetch), [1, 2, 0]);
}

#[test]
fn a_request_changes_adds_and_forgets_partitions() {
    let client = Client::new(10);
    let id = client.open(&[0, 1]);
    let mut change = request(id, 1, &[2]);
    change.asked.push((partition(1), ask(50)));
    change.forgotten.push(partition(0));
    let fetch = client.sessions.begin(change, START).unwrap();
    assert_eq!(fetch.partitions, [(partition(1), ask(50)), (partition(2), ask(0))]);
    let reply = fetch.finish(&client.sessions, &[answer(0, 0); 2], START, &client.random);
    let included = Included::Marked(vec![false, true]);
    assert_eq!(reply.unwrap().included, included, "an added partition is always sent");
}

#[test]
fn an_error_is_sent_each_time_and_the_partition_again_when_it_is_gone() {
    let client = Client::new(10);
    let id = client.open(&[0]);
    for epoch in 1..3 {
        let reply = client.fetch(request(id, epoch, &[]), &[error()]).unwrap();
        assert_eq!(reply.included, Included::Marked(vec![true]));
    }
    let reply = client.fetch(request(id, 3, &[]), &[answer(0, 0)]).unwrap();
    assert_eq!(reply.included, Included::Marked(vec![true]));
    let reply = client.fetch(request(id, 4, &[]), &[answer(0, 0)]).unwrap();
    assert_eq!(reply.included, Included::Marked(vec![false]));
}

#[test]
fn a_moved_log_start_is_new() {
    let client = Client::new(10);
    let id = client.open(&[0]);
    let moved = Answer { log_start: Offset::new(3), ..answer(0, 0) };
    let reply = client.fetch(request(id, 1, &[]), &[moved]).unwrap();
    assert_eq!(reply.included, Included::Marked(vec![true]));
}

#[test]
fn a_session_is_refused_when_it_is_unknown_at_another_epoch_or_named_differently() {
    let client = Client::new(10);
    let id = client.open(&[0]);
    let begin = |request| client.sessions.begin(request, START).map(|_| ());
    assert_eq!(begin(request(id.wrapping_add(1).max(1), 1, &[])), Err(SessionError::NotFound));
    assert_eq!(begin(request(0, 1, &[])), Err(SessionError::NotFound));
    assert_eq!(begin(request(id, 2, &[])), Err(SessionError::WrongEpoch));
    let by_id = SessionRequest { uses_topic_ids: true, ..request(id, 1, &[]) };
    assert_eq!(begin(by_id), Err(SessionError::TopicIds));
    assert_eq!(begin(request(id, 1, &[])), Ok(()), "none of it has hurt the session");
}

#[test]
fn an_answer_that_comes_after_the_next_request_began_is_refused() {
    let client = Client::new(10);
    let id = client.open(&[0]);
    let slow = client.sessions.begin(request(id, 1, &[]), START).unwrap();
    client.fetch(request(id, 2, &[]), &[answer(0, 0)]).unwrap();
    let late = slow.finish(&client.sessions, &[answer(5, 5)], START, &client.random);
    assert_eq!(late, Err(SessionError::WrongEpoch));
}

#[test]
fn full_fetches_close_the_session_they_name() {
    let client = Client::new(10);
    let (a, b) = (client.open(&[0]), client.open(&[0]));
    let reply = client.fetch(request(a, -1, &[0]), &[answer(0, 0)]).unwrap();
    assert_eq!(reply.session_id, NO_SESSION);
    let reply = client.fetch(request(b, 0, &[0]), &[answer(0, 0)]).unwrap();
    assert!(reply.session_id != b && reply.session_id > 0);
    assert_eq!(client.sessions.len(), 1);
}

#[test]
fn a_session_that_forgets_everything_ends() {
    let client = Client::new(10);
    let id = client.open(&[0]);
    let mut change = request(id, 1, &[]);
    change.forgotten.push(partition(0));
    let reply = client.fetch(change, &[]).unwrap();
    assert_eq!(reply.session_id, NO_SESSION);
    assert!(client.sessions.is_empty());
}

#[test]
fn a_full_cache_keeps_young_sessions_and_gives_up_stale_ones() {
    let mut client = Client::new(1);
    let first = client.open(&[0]);
    assert_eq!(client.open(&[0, 1]), NO_SESSION, "the first one is young");
    client.now += Duration::from_secs(121);
    let second = client.open(&[0]);
    assert!(second > 0 && second != first, "not used for two minutes");
}

#[test]
fn a_full_cache_gives_up_an_old_session_for_a_larger_one_only() {
    let mut client = Client::new(1);
    let id = client.open(&[0, 1]);
    client.now += Duration::from_secs(121);
    client.fetch(request(id, 1, &[]), &[answer(0, 0); 2]).unwrap();
    assert_eq!(client.open(&[0, 1]), NO_SESSION);
    assert!(client.open(&[0, 1, 2]) > 0);
}

#[test]
fn epochs_start_again_at_one() {
    assert_eq!(next_epoch(i32::MAX), 1);
    assert_eq!(next_epoch(1), 2);
}

#[test]
fn without_slots_there_are_no_sessions() {
    assert_eq!(Client::new(0).open(&[0]), NO_SESSION);
}
