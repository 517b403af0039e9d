//! Members that come, go, crash, stall, lose answers and change their minds, while topics change and the coordinator restarts.
//!
//! Each simulated consumer follows the client's side of the protocol: one heartbeat at a time, everything said again after an
//! answer was lost. Whatever happens, no partition is in the hands of two members of the group. Once nothing happens any
//! more, the group settles in a bounded number of heartbeats, every partition has its owner, and the load is even.

use proptest::prelude::*;

use super::*;

const CLIENTS: usize = 6;
const TOPICS: [&str; 3] = ["t0", "t1", "t2"];
/// What members may subscribe to: names or a pattern.
const SUBSCRIPTIONS: [(&[&str], Option<&str>); 5] = [
    (&["t0", "t1", "t2"], None),
    (&["t0"], None),
    (&["t1", "t2"], None),
    (&[], Some("t.*")),
    (&["t0"], Some("t[12]")),
];
/// Rounds of heartbeats, 5 seconds each: a session that ends, and then a target, letting go, and taking.
const CALM_ROUNDS_MAX: usize = 10 + 6;

/// A consumer as the coordinator cannot see it.
#[derive(Debug)]
struct Simulated {
    consumer: Consumer,
    /// Is running.
    is_up: bool,
    /// What it has been told to hold; it may own more until it has let go.
    told: BTreeSet<(TopicId, i32)>,
    /// An answer was lost: it says everything with the next heartbeat.
    must_say_all: bool,
    /// Ids that it has had.
    lives: usize,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A heartbeat; what it has to let go of, it has or has not.
    Beat(usize, LetsGo),
    /// A heartbeat whose answer is lost.
    BeatUnheard(usize),
    Start(usize),
    Leave(usize),
    /// Leaves for a while, if it is a static member.
    Pause(usize),
    Crash(usize),
    Subscribe(usize, usize),
    Grow(usize),
    Delete(usize),
    Pass(u16),
    Restart,
    /// The log is cleaned, then read by another process.
    CleanAndRestart,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LetsGo {
    First,
    Later,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let client = || 0..CLIENTS;
    let topic = || 0..TOPICS.len();
    let event = prop_oneof![
        14 => client().prop_map(|at| Event::Beat(at, LetsGo::First)),
        6 => client().prop_map(|at| Event::Beat(at, LetsGo::Later)),
        2 => client().prop_map(Event::BeatUnheard),
        5 => client().prop_map(Event::Start),
        1 => client().prop_map(Event::Leave),
        1 => client().prop_map(Event::Pause),
        1 => client().prop_map(Event::Crash),
        1 => (client(), 0..SUBSCRIPTIONS.len()).prop_map(|(at, to)| Event::Subscribe(at, to)),
        1 => topic().prop_map(Event::Grow),
        1 => topic().prop_map(Event::Delete),
        2 => (0..20_000_u16).prop_map(Event::Pass),
        1 => Just(Event::Restart),
        1 => Just(Event::CleanAndRestart),
    ];
    prop::collection::vec(event, 1..150)
}

struct World {
    bench: Bench,
    clients: Vec<Simulated>,
}

impl World {
    /// The first half of the clients are static members.
    fn new(interval_ms: i32, subscription: usize) -> Self {
        let settings = GroupSettings {
            consumer_assignment_interval_ms: interval_ms,
            ..GroupSettings::default()
        };
        let mut bench = Bench::with(settings);
        for name in TOPICS {
            bench.stepper.topic(name, 3);
        }
        let instances = ["i0", "i1", "i2"];
        let client = |index: usize| Simulated {
            consumer: Consumer {
                instance: instances.get(index).copied(),
                ..subscribed(&format!("c{index}"), subscription)
            },
            is_up: false,
            told: BTreeSet::new(),
            must_say_all: false,
            lives: 0,
        };
        Self { bench, clients: (0..CLIENTS).map(client).collect() }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Beat(at, lets_go) => self.beat(at, lets_go),
            Event::BeatUnheard(at) => {
                if let Some(request) = self.request(at) {
                    self.bench.send(request);
                    self.clients[at].must_say_all = true;
                }
            }
            Event::Start(at) => self.start(at),
            Event::Leave(at) => self.leave(at, -1),
            Event::Pause(at) if self.clients[at].consumer.instance.is_some() => self.leave(at, -2),
            Event::Pause(at) | Event::Crash(at) => self.clients[at].is_up = false,
            Event::Subscribe(at, to) => {
                let client = &mut self.clients[at];
                let wanted = subscribed("", to);
                client.consumer.topics = wanted.topics;
                client.consumer.pattern = wanted.pattern;
                client.must_say_all = true;
            }
            Event::Grow(at) => self.grow(TOPICS[at]),
            Event::Delete(at) => {
                if self.bench.stepper.image.topic(TOPICS[at]).is_some() {
                    self.next_metadata();
                    self.bench.stepper.delete_topic(TOPICS[at]);
                }
            }
            Event::Pass(ms) => self.bench.stepper.advance_ms(u64::from(ms)),
            Event::Restart => self.bench.stepper.restart(),
            Event::CleanAndRestart => {
                self.bench.stepper.log.clean();
                self.bench.stepper.restart();
            }
        }
        self.check();
    }

    fn next_metadata(&mut self) {
        let image = &mut self.bench.stepper.image;
        image.end_offset = crate::types::Offset::new(image.end_offset.get() + 1);
    }

    fn grow(&mut self, name: &str) {
        self.next_metadata();
        let partitions =
            self.bench.stepper.image.topic(name).map_or(0, |topic| topic.partitions.len());
        if partitions < 8 {
            self.bench.stepper.topic(name, partitions + 1);
        }
    }

    /// Each start has a new id, as with a new process.
    fn start(&mut self, at: usize) {
        let client = &mut self.clients[at];
        if !client.is_up {
            client.lives += 1;
            client.consumer.id = format!("c{at}-{}", client.lives);
            client.is_up = true;
            self.begin(at);
            self.beat(at, LetsGo::First);
        }
    }

    fn begin(&mut self, at: usize) {
        let client = &mut self.clients[at];
        client.consumer.epoch = 0;
        client.consumer.owned.clear();
        client.told.clear();
        client.must_say_all = true;
    }

    fn leave(&mut self, at: usize, epoch: i32) {
        let client = &mut self.clients[at];
        if client.is_up {
            client.is_up = false;
            client.consumer.owned.clear();
            let request = Consumer { epoch, ..client.consumer.clone() }.delta();
            self.bench.send(request);
        }
    }

    fn request(&self, at: usize) -> Option<ConsumerGroupHeartbeatRequest> {
        let client = &self.clients[at];
        let says_all = client.must_say_all || client.consumer.epoch == 0;
        let consumer = &client.consumer;
        client.is_up.then(|| if says_all { consumer.full() } else { consumer.owning() })
    }

    fn beat(&mut self, at: usize, lets_go: LetsGo) {
        if lets_go == LetsGo::First {
            let Simulated { consumer, told, .. } = &mut self.clients[at];
            consumer.owned.retain(|partition| told.contains(partition));
        }
        let Some(request) = self.request(at) else { return };
        let response = self.bench.send(request);
        match ResponseError::try_from_code(response.error_code) {
            None => self.hear(at, &response),
            Some(ResponseError::FencedMemberEpoch | ResponseError::UnknownMemberId) => {
                self.begin(at)
            }
            // The group is gone, or the instance still counts as running: it tries again.
            Some(
                ResponseError::GroupIdNotFound
                | ResponseError::UnreleasedInstanceId
                | ResponseError::FencedInstanceId,
            ) => self.begin(at),
            other => panic!("{other:?}"),
        }
    }

    /// What it is given it takes at once; what it is to let go of, it does sooner or later.
    fn hear(&mut self, at: usize, response: &ConsumerGroupHeartbeatResponse) {
        let client = &mut self.clients[at];
        client.must_say_all = false;
        client.consumer.epoch = response.member_epoch;
        if let Some(assigned) = assigned(response) {
            client.consumer.owned.extend(&assigned);
            client.told = assigned;
        }
    }

    /// No partition is in the hands of two members.
    fn check(&self) {
        let mut owners = std::collections::BTreeMap::new();
        for client in &self.clients {
            let consumer = &client.consumer;
            if client.is_up && self.bench.is_member(&consumer.id) {
                for partition in &consumer.owned {
                    let other = owners.insert(*partition, &consumer.id);
                    assert_eq!(other, None, "{partition:?} is owned by {} too", consumer.id);
                }
            }
        }
    }

    /// Nothing happens any more but time and heartbeats.
    fn calm_down(&mut self) {
        for _ in 0..CALM_ROUNDS_MAX {
            self.bench.stepper.advance_ms(5_000);
            for at in 0..CLIENTS {
                self.beat(at, LetsGo::First);
                self.check();
            }
        }
        let written = self.bench.mark();
        for at in 0..CLIENTS {
            self.beat(at, LetsGo::First);
        }
        assert_eq!(self.bench.mark(), written, "{:?}", self.bench.written(written));
        self.check_settled();
    }

    fn check_settled(&self) {
        let up: Vec<_> = self.clients.iter().filter(|client| client.is_up).collect();
        if up.is_empty() {
            return;
        }
        assert_eq!(self.bench.group().state(), "Stable");
        assert_eq!(self.bench.group().members().len(), up.len());
        let owned: BTreeSet<_> = up.iter().flat_map(|it| it.consumer.owned.clone()).collect();
        let mut wanted = BTreeSet::new();
        for topic in self.bench.stepper.image.topics.values() {
            if self.bench.group().is_subscribed(&topic.name) {
                let partitions = 0..i32::try_from(topic.partitions.len()).expect("few");
                wanted.extend(partitions.map(|at| (topic.id, at)));
            }
        }
        assert_eq!(owned, wanted, "every partition has an owner");
        let loads = || up.iter().map(|it| it.consumer.owned.len());
        let (min, max) = (loads().min().unwrap_or(0), loads().max().unwrap_or(0));
        if self.bench.group().is_homogeneous() {
            assert!(max - min <= 1, "{min} to {max}");
        }
    }
}

fn subscribed(id: &str, to: usize) -> Consumer {
    let (names, pattern) = SUBSCRIPTIONS[to];
    Consumer {
        topics: Some(names.to_vec()),
        pattern: Some(pattern.unwrap_or("")),
        ..Consumer::new(id, &[])
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn partitions_have_one_owner_and_groups_settle(
        interval_ms in prop_oneof![Just(0), Just(1_000)],
        subscription in 0..SUBSCRIPTIONS.len(),
        events in events(),
    ) {
        let mut world = World::new(interval_ms, subscription);
        for event in events {
            world.happen(event);
        }
        world.calm_down();
    }
}
