//! What is written of a group, and what is left of it after a restart.

use super::*;
use crate::coordinator::groups::GroupsHard;
use crate::coordinator::records::{ClassicGroupMember, GroupRecord};
use crate::types::Timestamp;

#[test]
fn a_new_group_is_written_before_anyone_is_in_it() {
    let mut bench = Bench::new();
    bench.new_member_id(&Consumer::new());
    assert_eq!(bench.stepper.log.len(), 1);
    let now = bench.stepper.now.wall;
    let expected = ClassicGroupValue {
        protocol_type: String::new(),
        generation: 0,
        protocol: None,
        leader: None,
        current_state_timestamp: now,
        members: Vec::new(),
    };
    assert_eq!(bench.written(), Some(&expected));
}

#[test]
fn a_member_is_written_with_all_that_it_said() {
    let mut bench = Bench::new();
    let mut members = bench.settle(vec![Consumer::with_instance("i")]);
    let member = members.pop().expect("one");
    let written = bench.written().expect("a group");
    let expected = ClassicGroupMember {
        member_id: (&*member.member_id).into(),
        group_instance_id: Some("i".into()),
        client_id: "client".to_owned(),
        client_host: "/127.0.0.1".to_owned(),
        rebalance_timeout_ms: REBALANCE_MS,
        session_timeout_ms: SESSION_MS,
        subscription: topics(&["t"]),
        assignment: Bytes::copy_from_slice(member.member_id.as_bytes()),
    };
    assert_eq!(written.members, vec![expected]);
}

#[test]
fn the_time_of_a_generation_is_when_its_members_had_joined() {
    let mut bench = Bench::new();
    let token = bench.join(&Consumer { version: 3, ..Consumer::new() });
    let answer = bench.joined(token);
    let joined_at = bench.stepper.now.wall;
    bench.stepper.advance_ms(500);
    let member = Consumer { generation: 1, ..Consumer::new().as_member(&answer.member_id) };
    let token = bench.sync(&member, &[]);
    bench.synced(token);
    assert_eq!(bench.written().map(|value| value.current_state_timestamp), Some(joined_at));
}

#[test]
fn a_restart_keeps_a_stable_group() {
    let mut bench = Bench::new();
    let members =
        bench.settle(vec![Consumer::with_instance("i"), Consumer::new(), Consumer::new()]);
    bench.stepper.restart();
    assert_eq!((bench.state(), bench.size()), ("Stable", 3));
    for member in &members {
        assert_eq!(bench.heartbeat(member), Ok(()));
        let token = bench.sync(member, &[]);
        assert_eq!(bench.synced(token).assignment, member.member_id.as_bytes());
    }
    let token = bench.join(&members[1]);
    let answer = bench.joined(token);
    assert_eq!((answer.generation_id, &*answer.leader), (2, &*members[0].member_id));
    let restarted = Consumer { member_id: String::new(), ..members[0].clone() };
    let token = bench.join(&restarted);
    assert!(bench.joined(token).skip_assignment, "the instance is known");
}

#[test]
fn sessions_begin_again_with_a_restart() {
    let (mut bench, members) = Bench::stable(2);
    bench.stepper.advance_ms(SESSION_MS as u64 - 1);
    bench.stepper.restart();
    bench.stepper.advance_ms(SESSION_MS as u64 - 1);
    assert_eq!(bench.heartbeat(&members[0]), Ok(()));
    bench.stepper.advance_ms(1);
    assert_eq!(bench.heartbeat(&members[0]), Err(ResponseError::RebalanceInProgress));
    assert_eq!(bench.size(), 1);
}

#[test]
fn a_restart_in_the_middle_of_a_rebalance_goes_back_to_the_last_generation() {
    let (mut bench, members) = Bench::stable(2);
    let tokens = [bench.join(&members[0]), bench.join(&members[1])];
    let _ = tokens.map(|token| bench.joined(token));
    bench.stepper.restart();
    assert_eq!((bench.state(), bench.group().generation), ("Stable", 2));
    let newer = Consumer { generation: 3, ..members[1].clone() };
    assert_eq!(bench.heartbeat(&newer), Err(ResponseError::IllegalGeneration));
    assert_eq!(bench.sync_error(sync_request(&newer, &[])), ResponseError::IllegalGeneration);
}

#[test]
fn an_empty_group_is_empty_after_a_restart_and_its_generation_goes_on() {
    let (mut bench, members) = Bench::stable(1);
    bench.leave_one(&members[0]);
    bench.stepper.restart();
    assert_eq!((bench.state(), bench.size()), ("Empty", 0));
    let token = bench.join(&Consumer { version: 3, ..Consumer::new() });
    assert_eq!(bench.joined(token).generation_id, 3);
}

#[test]
fn pending_ids_are_lost_with_a_restart() {
    let mut bench = Bench::new();
    let id = bench.new_member_id(&Consumer::new());
    bench.stepper.restart();
    let refused = bench.join_error(&Consumer::new().as_member(&id));
    assert_eq!(refused.0, ResponseError::UnknownMemberId);
}

#[test]
fn a_group_that_is_too_large_after_a_restart_rebalances() {
    let (mut bench, members) = Bench::stable(3);
    let settings = GroupSettings { group_max_size: 2, ..GroupSettings::default() };
    bench.stepper.machine.settings = Arc::new(settings);
    bench.stepper.restart();
    assert_eq!(bench.state(), "PreparingRebalance");
    assert_eq!(bench.heartbeat(&members[0]), Err(ResponseError::RebalanceInProgress));
}

#[test]
fn a_record_that_makes_no_sense_makes_a_group_all_the_same() {
    let member = |id: &str| ClassicGroupMember {
        member_id: id.into(),
        group_instance_id: Some("i".into()),
        client_id: String::new(),
        client_host: String::new(),
        rebalance_timeout_ms: -1,
        session_timeout_ms: -1,
        subscription: Bytes::new(),
        assignment: Bytes::new(),
    };
    let value = ClassicGroupValue {
        protocol_type: String::new(),
        generation: i32::MAX,
        protocol: None,
        leader: Some("gone".into()),
        current_state_timestamp: Timestamp::new(i64::MIN),
        members: vec![member("a"), member("a"), member("b")],
    };
    let record = GroupRecord::ClassicGroup { group: GROUP.into(), value: Some(value) };
    let mut bench = Bench::new();
    bench.stepper.turn(|_, turn| turn.write(record));
    bench.stepper.restart();
    assert_eq!((bench.state(), bench.size()), ("Stable", 2));
    bench.stepper.advance_ms(500_000);
    assert_eq!(bench.size(), 0);
    assert!(bench.group().generation >= 0);
}

#[test]
fn a_tombstone_of_a_group_that_is_of_the_new_protocol_by_now_ends_nothing() {
    let mut hard = GroupsHard::default();
    let group = GroupId::new(GROUP);
    super::super::apply(&mut hard, &group, None);
    assert!(hard.groups.is_empty());
    hard.groups.insert(group.clone(), HardGroup::Consumer(Default::default()));
    super::super::apply(&mut hard, &group, None);
    assert!(matches!(hard.groups.get(&group), Some(HardGroup::Consumer(_))));
}

/// What Kafka 4.4.0 wrote of the group `g-classic` of the golden directory: new, in its first generation, empty.
const KAFKA: [&[u8]; 3] = [
    b"\0\x03\0\0\0\0\0\0\xff\xff\xff\xff\0\0\x01\xa2)\xe7\xdc2\0\0\0\0",
    b"\0\x03\0\x08consumer\0\0\0\x01\0\x05range\x005golden-g-classic-42d0b8dd-de08-4443-bb5a-a7653ff8c53d\0\
      \0\x01\xa2)\xe7\xdcC\0\0\0\x01\x005golden-g-classic-42d0b8dd-de08-4443-bb5a-a7653ff8c53d\xff\xff\0\x10\
      golden-g-classic\0\x0a/127.0.0.1\0\x04\x93\xe0\0\0\xaf\xc8\0\0\0\x1d\0\x03\0\0\0\x01\0\x07offsets\
      \xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff\0\0\0'\0\x03\0\0\0\x01\0\x07offsets\0\0\0\x04\0\0\0\
      \0\0\0\0\x01\0\0\0\x02\0\0\0\x03\xff\xff\xff\xff",
    b"\0\x03\0\x08consumer\0\0\0\x02\xff\xff\xff\xff\0\0\x01\xa2)\xe7\xdc\xb7\0\0\0\0",
];
const SUBSCRIPTION: &[u8] =
    b"\0\x03\0\0\0\x01\0\x07offsets\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff";
const ASSIGNMENT: &[u8] = b"\0\x03\0\0\0\x01\0\x07offsets\0\0\0\x04\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\xff\xff\xff\xff";

#[test]
fn the_life_of_a_group_is_written_as_kafka_writes_it() {
    let mut bench = Bench::new();
    let named = "golden-g-classic";
    let client = Client { id: Arc::from(named), host: Arc::from("/127.0.0.1") };
    let group = || text("g-classic").into();
    bench.stepper.set_next_id(0x42d0b8dd_de08_4443_bb5a_a7653ff8c53d);
    let at = |bench: &mut Bench, ms: i64| {
        bench.stepper.now.wall = Timestamp::new(1_795_999_390_000 + ms)
    };
    let join = |bench: &mut Bench, member_id: &str| {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(text("range"))
            .with_metadata(Bytes::from_static(SUBSCRIPTION));
        let request = JoinGroupRequest::default()
            .with_group_id(group())
            .with_session_timeout_ms(45_000)
            .with_rebalance_timeout_ms(300_000)
            .with_member_id(text(member_id))
            .with_protocol_type(text("consumer"))
            .with_protocols(vec![protocol]);
        let call = Call { version: JOIN, client: client.clone(), request };
        let token = bench.stepper.send(GroupCommand::Join(call));
        bench.joined(token).member_id
    };
    at(&mut bench, 770);
    let member_id = join(&mut bench, "");
    at(&mut bench, 787);
    join(&mut bench, &member_id);
    at(&mut bench, 803);
    let part = SyncGroupRequestAssignment::default()
        .with_member_id(member_id.clone())
        .with_assignment(Bytes::from_static(ASSIGNMENT));
    let request = SyncGroupRequest::default()
        .with_group_id(group())
        .with_generation_id(1)
        .with_member_id(member_id.clone())
        .with_assignments(vec![part]);
    let token = bench.send_sync(request);
    assert_eq!(bench.synced(token).assignment, ASSIGNMENT);
    at(&mut bench, 903);
    bench.leave(LEAVE, leave_request(&[(&member_id, None)]).with_group_id(group()));
    for (written, kafka) in bench.stepper.log.records().iter().zip(KAFKA) {
        assert_eq!(written.key, b"\0\x02\0\x09g-classic");
        assert_eq!(written.value.as_deref(), Some(kafka));
    }
    assert_eq!(bench.stepper.log.len(), KAFKA.len());
}
