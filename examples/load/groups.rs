//! Groups under load: many commits, many members, many groups.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    FindCoordinatorRequest, FindCoordinatorResponse, GroupId, HeartbeatRequest, HeartbeatResponse,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse,
    OffsetCommitRequest, OffsetFetchRequest, OffsetFetchResponse, SyncGroupRequest,
    SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;

use crate::broker::Target;
use crate::report::Report;
use crate::single::round_trips;
use crate::wire::{Connection, name, request};

const OFFSET_COMMIT: (i16, i16) = (8, 8);
const OFFSET_FETCH: (i16, i16) = (9, 7);
const FIND_COORDINATOR: (i16, i16) = (10, 4);
const JOIN_GROUP: (i16, i16) = (11, 6);
const HEARTBEAT: (i16, i16) = (12, 4);
const LEAVE_GROUP: (i16, i16) = (13, 4);
const SYNC_GROUP: (i16, i16) = (14, 4);

const COORDINATOR_PAUSE: Duration = Duration::from_millis(1);
const MEMBERS: usize = 1_000;
/// Commits of the open loop: a burst each millisecond, each commit of another group.
const COMMITS: u64 = 20_000;
const COMMIT_BURST: u64 = 20;
const COMMITTING_GROUPS: u64 = 200;

/// 20,000 commits a second from 200 groups on 20 connections, beside one producer with one record in flight.
pub(crate) fn commits(target: &Target, seconds: u64) -> io::Result<Report> {
    let mut connection = Connection::open(&target.address)?;
    connection.create_topic(&target.topic, 1)?;
    find_coordinators(&mut connection, COMMITTING_GROUPS)?;
    let alone = round_trips(target, 100, Duration::from_secs(1))?;
    let mut committers: Vec<Committer> =
        (0..COMMIT_BURST).map(|_| Committer::open(target)).collect::<Result<_, _>>()?;
    let beside = produce_in_background(target, seconds);
    let bursts = seconds * COMMITS / COMMIT_BURST;
    let (cpu, began) = (target.cpu(), Instant::now());
    for burst in 0..bursts {
        let due = began + Duration::from_millis(burst);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        for (number, committer) in (burst * COMMIT_BURST..).zip(&mut committers) {
            committer.commit(&target.topic, number, due)?;
        }
    }
    let mut times = Vec::new();
    for committer in committers {
        times.extend(committer.finish()?);
    }
    let cores = (target.cpu() - cpu).as_secs_f64() / began.elapsed().as_secs_f64();
    let beside = beside.join().expect("the producer does not panic")?;
    check_commits(target, bursts * COMMIT_BURST)?;
    Ok(Report::default()
        .percentiles("commit_", times)
        .with("broker_cores", cores)
        .percentiles("produce_alone_", alone)
        .percentiles("produce_beside_", beside))
}

/// A connection that commits in an open loop: the latency counts from the time at which a commit was due.
struct Committer {
    sender: Connection,
    due_times: mpsc::Sender<Instant>,
    reader: thread::JoinHandle<io::Result<Vec<Duration>>>,
}

impl Committer {
    fn open(target: &Target) -> io::Result<Self> {
        let sender = Connection::open(&target.address)?;
        let mut receiver = sender.try_clone()?;
        let (tell, due_times) = mpsc::channel::<Instant>();
        let reader = thread::spawn(move || {
            let mut times = Vec::new();
            for due in due_times {
                receiver.receive()?;
                times.push(due.elapsed());
            }
            Ok(times)
        });
        Ok(Self { sender, due_times: tell, reader })
    }

    fn commit(&mut self, topic: &str, number: u64, due: Instant) -> io::Result<()> {
        self.due_times.send(due).map_err(io::Error::other)?;
        self.sender.send(&commit(topic, number)?)
    }

    fn finish(self) -> io::Result<Vec<Duration>> {
        drop(self.due_times);
        self.reader.join().expect("the reader does not panic")
    }
}

/// One group of 1,000 members, each on a connection of its own, who then send heartbeats while a producer goes on.
pub(crate) fn members(target: &Target, seconds: u64) -> io::Result<Report> {
    crowd(target, seconds, |_| "crowd".to_owned())
}

/// 1,000 groups of one member.
pub(crate) fn single_member_groups(target: &Target, seconds: u64) -> io::Result<Report> {
    crowd(target, seconds, |index| format!("group-{index}"))
}

fn crowd(target: &Target, seconds: u64, group: fn(usize) -> String) -> io::Result<Report> {
    let mut connection = Connection::open(&target.address)?;
    connection.create_topic(&target.topic, 1)?;
    find_coordinator(&mut connection, "crowd")?;
    let alone = round_trips(target, 100, Duration::from_secs(1))?;
    let connections: Vec<Connection> =
        (0..MEMBERS).map(|_| Connection::open(&target.address)).collect::<Result<_, _>>()?;
    let (memory, began) = (target.memory_mib(), Instant::now());
    let ready = Arc::new(Barrier::new(MEMBERS + 1));
    let end = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = connections
        .into_iter()
        .enumerate()
        .map(|(index, connection)| {
            let (ready, end) = (Arc::clone(&ready), Arc::clone(&end));
            thread::spawn(move || Member::new(connection, &group(index)).live(&ready, &end))
        })
        .collect();
    ready.wait();
    let joined = began.elapsed();
    let memory = (target.memory_mib() - memory) * 1024.0 / MEMBERS as f64;
    let cpu = target.cpu();
    let beside = round_trips(target, 100, Duration::from_secs(seconds))?;
    let cores = (target.cpu() - cpu).as_secs_f64() / seconds as f64;
    end.store(true, Ordering::Relaxed);
    let mut heartbeats = Vec::new();
    for thread in threads {
        heartbeats.extend(thread.join().expect("a member does not panic")?);
    }
    Ok(Report::default()
        .millis("joined_ms", joined)
        .with("memory_kib_each", memory)
        .percentiles("heartbeat_", heartbeats)
        .with("broker_cores", cores)
        .percentiles("produce_alone_", alone)
        .percentiles("produce_beside_", beside))
}

/// A member of the classic protocol.
pub(crate) struct Member {
    connection: Connection,
    group: GroupId,
    id: StrBytes,
    generation: i32,
}

impl Member {
    pub(crate) fn new(connection: Connection, group: &str) -> Self {
        let group = GroupId(StrBytes::from_string(group.to_owned()));
        Self { connection, group, id: StrBytes::default(), generation: -1 }
    }

    /// True once the coordinator of the group is there.
    pub(crate) fn has_coordinator(&mut self) -> io::Result<bool> {
        const NOT_THERE_YET: [i16; 3] = [14, 15, 16];
        match coordinator_error(&mut self.connection, &self.group.0)? {
            0 => Ok(true),
            code if NOT_THERE_YET.contains(&code) => Ok(false),
            code => Err(io::Error::other(format!("FindCoordinator: error {code}"))),
        }
    }

    /// What the group has committed for partition 0 of a topic; -1 if nothing.
    pub(crate) fn committed(&mut self, topic: &str) -> io::Result<i64> {
        committed(&mut self.connection, self.group.clone(), topic)
    }

    pub(crate) fn leave(&mut self) -> io::Result<()> {
        let member = MemberIdentity::default().with_member_id(self.id.clone());
        let asked = LeaveGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_members(vec![member]);
        let answer: LeaveGroupResponse = self.connection.ask(LEAVE_GROUP, &asked)?;
        match answer.error_code {
            0 => Ok(()),
            code => Err(io::Error::other(format!("LeaveGroup: error {code}"))),
        }
    }

    /// Joins until the group is stable, tells so, then sends a heartbeat each second; their round trips.
    fn live(mut self, ready: &Barrier, end: &AtomicBool) -> io::Result<Vec<Duration>> {
        let joined = self.join_until_stable();
        ready.wait();
        joined?;
        let mut times = Vec::new();
        while !end.load(Ordering::Relaxed) {
            let began = Instant::now();
            match self.heartbeat()? {
                0 => times.push(began.elapsed()),
                27 => self.join_until_stable()?,
                code => return Err(io::Error::other(format!("Heartbeat: error {code}"))),
            }
            thread::sleep(Duration::from_secs(1));
        }
        Ok(times)
    }

    /// A group that others still join is never stable for long: it is, once a heartbeat finds it so.
    pub(crate) fn join_until_stable(&mut self) -> io::Result<()> {
        loop {
            if self.join()? && self.heartbeat()? == 0 {
                return Ok(());
            }
        }
    }

    /// True if the member has its assignment; false if it must join again.
    fn join(&mut self) -> io::Result<bool> {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(StrBytes::from_static_str("range"))
            .with_metadata(bytes::Bytes::from_static(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        let asked = JoinGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_session_timeout_ms(30_000)
            .with_rebalance_timeout_ms(60_000)
            .with_member_id(self.id.clone())
            .with_protocol_type(StrBytes::from_static_str("consumer"))
            .with_protocols(vec![protocol]);
        let answer: JoinGroupResponse = self.connection.ask(JOIN_GROUP, &asked)?;
        match answer.error_code {
            0 => {}
            79 => {
                self.id = answer.member_id;
                return Ok(false);
            }
            27 => return Ok(false),
            14..=16 => {
                // The coordinator was made a moment ago and is not ready yet.
                thread::sleep(COORDINATOR_PAUSE);
                return Ok(false);
            }
            code => return Err(io::Error::other(format!("JoinGroup: error {code}"))),
        }
        self.id.clone_from(&answer.member_id);
        self.generation = answer.generation_id;
        let assignment = |id: &StrBytes| {
            SyncGroupRequestAssignment::default()
                .with_member_id(id.clone())
                .with_assignment(bytes::Bytes::from_static(&[0; 10]))
        };
        let asked = SyncGroupRequest::default()
            .with_group_id(self.group.clone())
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone())
            .with_assignments(answer.members.iter().map(|m| assignment(&m.member_id)).collect());
        let answer: SyncGroupResponse = self.connection.ask(SYNC_GROUP, &asked)?;
        match answer.error_code {
            0 => Ok(true),
            27 => Ok(false),
            code => Err(io::Error::other(format!("SyncGroup: error {code}"))),
        }
    }

    fn heartbeat(&mut self) -> io::Result<i16> {
        let asked = HeartbeatRequest::default()
            .with_group_id(self.group.clone())
            .with_generation_id(self.generation)
            .with_member_id(self.id.clone());
        let answer: HeartbeatResponse = self.connection.ask(HEARTBEAT, &asked)?;
        Ok(answer.error_code)
    }
}

fn produce_in_background(
    target: &Target,
    seconds: u64,
) -> thread::JoinHandle<io::Result<Vec<Duration>>> {
    let target = target.with_topic(target.topic.clone());
    thread::spawn(move || round_trips(&target, 100, Duration::from_secs(seconds)))
}

fn committing_group(number: u64) -> GroupId {
    GroupId(StrBytes::from_string(format!("committer-{}", number % COMMITTING_GROUPS)))
}

/// A commit without a member: commit `number` commits offset `number`.
fn commit(topic: &str, number: u64) -> io::Result<Vec<u8>> {
    let partition = OffsetCommitRequestPartition::default()
        .with_committed_offset(number as i64)
        .with_committed_metadata(Some(StrBytes::default()));
    let asked = OffsetCommitRequest::default()
        .with_group_id(committing_group(number))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![
            OffsetCommitRequestTopic::default()
                .with_name(name(topic))
                .with_partitions(vec![partition]),
        ]);
    request(OFFSET_COMMIT, &asked)
}

/// Each group has what it committed last.
fn check_commits(target: &Target, commits: u64) -> io::Result<()> {
    let mut connection = Connection::open(&target.address)?;
    for last in commits - COMMITTING_GROUPS..commits {
        let committed = committed(&mut connection, committing_group(last), &target.topic)?;
        if committed != last as i64 {
            return Err(io::Error::other(format!("{last} was committed, there is {committed}")));
        }
    }
    Ok(())
}

fn committed(connection: &mut Connection, group: GroupId, topic: &str) -> io::Result<i64> {
    let asked =
        OffsetFetchRequestTopic::default().with_name(name(topic)).with_partition_indexes(vec![0]);
    let asked = OffsetFetchRequest::default().with_group_id(group).with_topics(Some(vec![asked]));
    let answer: OffsetFetchResponse = connection.ask(OFFSET_FETCH, &asked)?;
    let partition = answer.topics.first().and_then(|topic| topic.partitions.first());
    match partition.map(|partition| (partition.error_code, partition.committed_offset)) {
        Some((0, offset)) => Ok(offset),
        other => Err(io::Error::other(format!("OffsetFetch: {other:?}"))),
    }
}

fn find_coordinators(connection: &mut Connection, groups: u64) -> io::Result<()> {
    (0..groups).try_for_each(|number| find_coordinator(connection, &committing_group(number).0))
}

fn find_coordinator(connection: &mut Connection, group: &str) -> io::Result<()> {
    match coordinator_error(connection, group)? {
        0 => Ok(()),
        code => Err(io::Error::other(format!("FindCoordinator: error {code}"))),
    }
}

fn coordinator_error(connection: &mut Connection, group: &str) -> io::Result<i16> {
    let key = StrBytes::from_string(group.to_owned());
    let asked = FindCoordinatorRequest::default().with_coordinator_keys(vec![key]);
    let answer: FindCoordinatorResponse = connection.ask(FIND_COORDINATOR, &asked)?;
    Ok(answer.coordinators.first().map_or(-1, |coordinator| coordinator.error_code))
}
