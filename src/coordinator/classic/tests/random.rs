//! Members that come, go, crash, stall and repeat themselves, across restarts of the coordinator.
//!
//! Each of the simulated consumers follows the client's side of the protocol. Whatever happens, a generation never goes back while
//! the coordinator lives, has one leader, one protocol, and no part of it is given to two members. Once nothing goes wrong any
//! more, the group is stable after a bounded number of steps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const CLIENTS: usize = 6;
/// A rebalance may have to wait for its time-out (60 s), and then for a session (10 s) of someone who is dead; twice.
const CALM_SECONDS_MAX: usize = 150;

/// A consumer as the coordinator cannot see it.
#[derive(Clone, Debug)]
struct Client {
    consumer: Consumer,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Not there, or dead without a word.
    Gone,
    /// Will join with what it knows.
    Joins,
    WaitsToJoin(Token),
    /// Will sync; a leader with these members.
    Syncs,
    WaitsToSync(Token),
    Works,
}

/// What goes wrong, or right.
#[derive(Clone, Copy, Debug)]
enum Event {
    Step(usize),
    Start(usize),
    Leave(usize),
    /// Dies; comes back, if it does, without its member id.
    Crash(usize),
    /// Sends what it sent last once more and hears only the newer answer.
    Repeat(usize),
    /// Says something in the name of a generation or a member that it is not.
    Lie(usize, i32),
    Pass(u16),
    Restart,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let client = || 0..CLIENTS;
    let event = prop_oneof![
        12 => client().prop_map(Event::Step),
        3 => client().prop_map(Event::Start),
        1 => client().prop_map(Event::Leave),
        1 => client().prop_map(Event::Crash),
        1 => client().prop_map(Event::Repeat),
        1 => (client(), -2..20i32).prop_map(|(at, generation)| Event::Lie(at, generation)),
        3 => (0..4_000u16).prop_map(Event::Pass),
        1 => Just(Event::Restart),
    ];
    proptest::collection::vec(event, 1..120)
}

struct World {
    bench: Bench,
    clients: Vec<Client>,
    /// Leader and protocol that members were told, by life of the coordinator and generation.
    told: BTreeMap<(usize, i32), (String, String)>,
    /// Who was given which part, likewise.
    parts: BTreeMap<(usize, i32, String), String>,
    life: usize,
    generation: i32,
}

impl World {
    fn new(delay_ms: i32) -> Self {
        let settings = GroupSettings {
            group_initial_rebalance_delay_ms: delay_ms,
            ..GroupSettings::default()
        };
        let client = |at: usize| {
            // All speak both: a restart leaves only the one that was chosen.
            let protocols = [&["range", "sticky"], &["sticky", "range"]][at % 2];
            let instance = ["a", "b"].get(at).copied();
            let version = [9, 9, 3, 8, 9, 0][at];
            let instance = instance.filter(|_| version >= 5);
            let consumer = Consumer { instance, version, ..Consumer::speaking(protocols) };
            Client { consumer, phase: Phase::Gone }
        };
        Self {
            bench: Bench::with(settings),
            clients: (0..CLIENTS).map(client).collect(),
            told: BTreeMap::new(),
            parts: BTreeMap::new(),
            life: 0,
            generation: 0,
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Step(at) => self.step(at),
            Event::Start(at) if self.clients[at].phase == Phase::Gone => {
                self.clients[at].phase = Phase::Joins;
            }
            Event::Start(_) => {}
            Event::Leave(at) => self.leave(at),
            Event::Crash(at) => self.crash(at),
            Event::Repeat(at) => self.repeat(at),
            Event::Lie(at, generation) => self.lie(at, generation),
            Event::Pass(ms) => self.bench.stepper.advance_ms(u64::from(ms)),
            Event::Restart => self.restart(),
        }
        self.check();
    }

    fn step(&mut self, at: usize) {
        let Client { consumer, phase } = self.clients[at].clone();
        match phase {
            Phase::Gone => {}
            Phase::Joins => {
                let token = self.bench.join(&consumer);
                self.clients[at].phase = Phase::WaitsToJoin(token);
                self.hear_join(at, token);
            }
            Phase::WaitsToJoin(token) => self.hear_join(at, token),
            Phase::Syncs => self.sync(at),
            Phase::WaitsToSync(token) => self.hear_sync(at, token),
            Phase::Works => {
                let outcome = self.bench.heartbeat(&consumer);
                self.obey(at, outcome);
            }
        }
    }

    fn hear_join(&mut self, at: usize, token: Token) {
        let Some(answer) = self.bench.join_answer(token) else { return };
        let client = &mut self.clients[at];
        if answer.error_code == 0 {
            client.consumer.member_id = answer.member_id.to_string();
            client.consumer.generation = answer.generation_id;
            client.phase = Phase::Syncs;
            self.note_generation(&answer);
        } else if answer.error_code == ResponseError::MemberIdRequired.code() {
            client.consumer.member_id = answer.member_id.to_string();
            client.phase = Phase::Joins;
        } else {
            self.obey(at, Err(error(answer.error_code)));
        }
    }

    fn note_generation(&mut self, answer: &JoinGroupResponse) {
        let key = (self.life, answer.generation_id);
        let protocol = answer.protocol_name.as_deref().expect("a protocol").to_owned();
        let leads = answer.leader == answer.member_id;
        let known = self.told.entry(key).or_insert_with(|| (String::new(), protocol.clone()));
        assert_eq!(known.1, protocol, "one protocol in generation {key:?}");
        if leads && !answer.skip_assignment {
            let is_first = known.0.is_empty() || known.0 == *answer.leader;
            assert!(is_first, "one leader in generation {key:?}");
            known.0 = answer.leader.to_string();
        }
    }

    fn sync(&mut self, at: usize) {
        let consumer = self.clients[at].consumer.clone();
        // As the leader would: every member that the coordinator has gets a part of its own.
        let members = self.bench.stepper.machine.classic.get(GROUP);
        let ids = members.map(|group| group.member_ids()).unwrap_or_default();
        let parts: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), id.as_str())).collect();
        let mut request = sync_request(&consumer, &parts);
        request.protocol_name = None;
        let token = self.bench.send_sync(request);
        self.clients[at].phase = Phase::WaitsToSync(token);
        self.hear_sync(at, token);
    }

    fn hear_sync(&mut self, at: usize, token: Token) {
        let Some(answer) = self.bench.sync_answer(token) else { return };
        if answer.error_code != 0 {
            return self.obey(at, Err(error(answer.error_code)));
        }
        let client = &mut self.clients[at];
        client.phase = Phase::Works;
        let part = String::from_utf8(answer.assignment.to_vec()).expect("as it was given");
        let instance = client.consumer.instance;
        let owner = instance.map_or(client.consumer.member_id.clone(), str::to_owned);
        let key = (self.life, client.consumer.generation, part);
        let known = self.parts.entry(key.clone()).or_insert_with(|| owner.clone());
        assert!(key.2.is_empty() || *known == owner, "{key:?} belongs to {known} and {owner}");
    }

    /// What a client does about an outcome.
    fn obey(&mut self, at: usize, outcome: Result<(), ResponseError>) {
        let client = &mut self.clients[at];
        match outcome {
            Ok(()) => {}
            Err(ResponseError::RebalanceInProgress) => client.phase = Phase::Joins,
            Err(ResponseError::UnknownMemberId | ResponseError::IllegalGeneration) => {
                client.consumer.member_id.clear();
                client.phase = Phase::Joins;
            }
            // Fatal for the client; its owner starts another.
            Err(ResponseError::FencedInstanceId) => {
                client.consumer.member_id.clear();
                client.phase = Phase::Gone;
            }
            Err(other) => panic!("{other:?} for {client:?}"),
        }
    }

    fn leave(&mut self, at: usize) {
        let consumer = self.clients[at].consumer.clone();
        if consumer.member_id.is_empty() {
            return;
        }
        self.bench.leave_one(&consumer);
        self.clients[at].phase = Phase::Gone;
        self.clients[at].consumer.member_id.clear();
    }

    fn crash(&mut self, at: usize) {
        self.clients[at].phase = Phase::Gone;
        self.clients[at].consumer.member_id.clear();
        self.clients[at].consumer.generation = -1;
    }

    fn repeat(&mut self, at: usize) {
        match self.clients[at].phase {
            Phase::WaitsToJoin(_) if !self.clients[at].consumer.member_id.is_empty() => {
                self.clients[at].phase = Phase::Joins;
                self.step(at);
            }
            Phase::WaitsToSync(_) => self.sync(at),
            _ => {}
        }
    }

    fn lie(&mut self, at: usize, generation: i32) {
        let liar = Consumer { generation, ..self.clients[at].consumer.clone() };
        let _ = self.bench.heartbeat(&liar);
        let stranger = liar.as_member("stranger");
        assert!(self.bench.heartbeat(&stranger).is_err());
        let token = self.bench.join(&stranger);
        assert_ne!(self.bench.joined(token).error_code, 0);
    }

    fn restart(&mut self) {
        self.bench.stepper.restart();
        self.life += 1;
        self.generation = 0;
        for client in &mut self.clients {
            // Connections broke: clients send again what they had no answer to.
            client.phase = match client.phase {
                Phase::WaitsToJoin(_) => Phase::Joins,
                Phase::WaitsToSync(_) => Phase::Syncs,
                other => other,
            };
        }
    }

    fn check(&mut self) {
        let Some(group) = self.bench.stepper.machine.classic.get(GROUP) else { return };
        assert!(group.generation >= self.generation, "generations do not go back");
        self.generation = group.generation;
        let joining = group.members().filter(|(_, member)| member.is_joining()).count();
        assert_eq!(group.joining_count(), joining);
        assert_eq!(group.leader.is_none(), group.members().len() == 0);
        assert!(group.leader.iter().all(|leader| group.has_member(leader.as_str())));
        assert!(group.unsynced.iter().all(|id| group.has_member(id.as_str())));
        assert!(group.pending.iter().all(|id| !group.has_member(id.as_str())));
        assert_eq!(group.state == super::super::group::State::Empty, group.is_settled_empty());
        for (id, member) in group.members() {
            let known = member.instance.as_ref().map(|it| group.static_member(it.as_str()));
            assert!(known.is_none_or(|known| known == Some(id)), "an instance has one member");
        }
    }

    /// Nothing goes wrong any more: those who live step in turns. Returns once they have settled, or have not for long.
    fn calm(&mut self) {
        for _ in 0..CALM_SECONDS_MAX {
            for at in 0..CLIENTS {
                self.step(at);
            }
            self.bench.stepper.advance_ms(1_000);
            self.check();
            if self.is_settled() {
                return;
            }
        }
    }

    /// Every client that lives works in the newest generation, and the group has no one else.
    fn is_settled(&self) -> bool {
        let alive: Vec<&Client> =
            self.clients.iter().filter(|client| client.phase != Phase::Gone).collect();
        let works = |client: &&Client| {
            client.phase == Phase::Works && client.consumer.generation == self.generation
        };
        let state = self.bench.state();
        let is_right_state = match alive.is_empty() {
            true => state == "Empty" || state == "Dead",
            false => state == "Stable",
        };
        is_right_state && alive.iter().all(works) && self.bench.size() == alive.len()
    }
}

impl super::super::ClassicGroup {
    /// `Empty` and nothing else.
    fn is_settled_empty(&self) -> bool {
        self.members().len() == 0 && self.state == super::super::group::State::Empty
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn groups_settle_whatever_happened(events in events(), delay_ms in prop_oneof![Just(0), Just(3_000)]) {
        let mut world = World::new(delay_ms);
        for event in events {
            world.happen(event);
        }
        world.calm();
        prop_assert!(world.is_settled(), "{} {:#?}", world.bench.state(), world.clients);
    }
}
