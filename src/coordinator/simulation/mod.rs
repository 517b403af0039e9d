//! A seeded simulation: one coordinator and clients that crash, stall, retry and hear nothing, across restarts.
//!
//! Clients follow the rules of their protocol and nothing more: they begin where the group has committed, commit what they
//! have consumed, and learn only from answers. The network loses, delays and repeats. What must hold is asked after every
//! step: no committed offset goes back, and no partition belongs to two members that the coordinator counts as such. When the
//! faults end, the group settles in bounded time and every partition has an owner.
//!
//! `HIGHWATER_SEED` repeats one run, `HIGHWATER_SEEDS` says how many are tried.

mod classic_client;
mod client;
mod consumer_client;
mod oracle;
mod transactions;
mod transactions_model;

use std::collections::HashMap;

use self::classic_client::ClassicClient;
use self::client::{Client, Request};
use self::consumer_client::ConsumerClient;
use self::oracle::Oracle;
use super::groups::{GroupReply, GroupSettings};
use super::machine::Token;
use super::schedule::{Schedule, seeds};
use super::stepper::Stepper;

const TOPIC: &str = "orders";
const GROUP: &str = "g";
const PARTITIONS: i32 = 6;
const MEMBERS: usize = 5;
/// Simulated time with faults, and the time after them in which the group must settle.
const FAULTS_MS: u64 = 300_000;
const SETTLING_MS: u64 = 180_000;
/// After this a client takes a request for lost.
const PATIENCE_MS: u64 = 30_000;

/// Which protocol the clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    Classic,
    Consumer,
    Both,
}

#[test]
fn classic_groups_keep_their_promises_under_faults() {
    run_seeds(Mix::Classic);
}

#[test]
fn consumer_groups_keep_their_promises_under_faults() {
    run_seeds(Mix::Consumer);
}

#[test]
fn groups_of_both_protocols_keep_their_promises_under_faults() {
    run_seeds(Mix::Both);
}

fn run_seeds(mix: Mix) {
    for seed in seeds(6) {
        println!("{mix:?}: HIGHWATER_SEED={seed}");
        Simulation::new(mix, seed).run();
    }
}

struct Simulation {
    schedule: Schedule<Event>,
    stepper: Stepper,
    mix: Mix,
    members: Vec<Member>,
    /// Who is to get the answer of a request that the coordinator has.
    asked: HashMap<Token, Exchange>,
    oracle: Oracle,
}

/// A client program. A crash ends its life; the next one starts from nothing.
struct Member {
    client: Box<dyn Client>,
    life: u64,
    stalled_until_ms: u64,
    /// The request that it waits for.
    waits_for: Option<u64>,
    requests: u64,
}

/// One request of one life of one member.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Exchange {
    member: usize,
    life: u64,
    request: u64,
}

enum Event {
    /// A client looks for something to do.
    Tick(usize),
    /// A request reaches the coordinator.
    Arrives(Exchange, Request),
    /// An answer reaches the client.
    Answered(Exchange, GroupReply),
    /// The client gives up waiting.
    Patience(Exchange),
    /// A client program dies and starts again.
    Crash(usize),
    /// A client program stands still.
    Stall(usize),
    /// The coordinator dies and starts again.
    Restart,
}

impl Simulation {
    fn new(mix: Mix, seed: u64) -> Self {
        let mut stepper = Stepper::new(GroupSettings::default());
        let topic_id = stepper.topic(TOPIC, usize::try_from(PARTITIONS).expect("positive"));
        let mut simulation = Self {
            schedule: Schedule::new(seed),
            stepper,
            mix,
            members: Vec::new(),
            asked: HashMap::new(),
            oracle: Oracle::new(topic_id),
        };
        for index in 0..MEMBERS {
            let client = simulation.new_client(index, 0);
            simulation.members.push(Member {
                client,
                life: 0,
                stalled_until_ms: 0,
                waits_for: None,
                requests: 0,
            });
            simulation.schedule.add_in(0, 5_000, Event::Tick(index));
        }
        simulation.schedule_next_faults();
        simulation
    }

    fn run(mut self) {
        self.run_until(FAULTS_MS);
        self.schedule.faulty = false;
        self.run_until(FAULTS_MS + SETTLING_MS);
        let owned: Vec<_> = self.members.iter().map(|member| member.client.owned()).collect();
        self.oracle.check_settled(&owned);
    }

    fn run_until(&mut self, end_ms: u64) {
        while let Some((step_ms, event)) = self.schedule.next_by(end_ms) {
            self.stepper.advance_ms(step_ms);
            self.happens(event);
            self.collect_answers();
            let clients = self.members.iter().map(|member| member.client.as_ref());
            self.oracle.check(&mut self.stepper, clients);
        }
        self.stepper.advance_ms(self.schedule.pass_until(end_ms));
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Tick(index) => self.tick(index),
            Event::Arrives(exchange, request) => {
                let token = self.stepper.send(request());
                self.asked.insert(token, exchange);
            }
            Event::Answered(exchange, reply) => {
                if let Some(member) = self.waiting(exchange) {
                    member.waits_for = None;
                    let now_ms = self.schedule.now_ms;
                    self.members[exchange.member].client.answered(now_ms, reply);
                }
            }
            Event::Patience(exchange) => {
                if let Some(member) = self.waiting(exchange) {
                    member.waits_for = None;
                    member.client.gave_up();
                }
            }
            Event::Crash(index) => {
                let life = self.members[index].life + 1;
                let client = self.new_client(index, life);
                let member = &mut self.members[index];
                (member.client, member.life, member.waits_for) = (client, life, None);
                self.schedule_next_faults();
            }
            Event::Stall(index) => {
                self.members[index].stalled_until_ms =
                    self.schedule.now_ms + self.schedule.below(60_000);
                self.schedule_next_faults();
            }
            Event::Restart => {
                self.stepper.restart();
                self.asked.clear();
                self.schedule_next_faults();
            }
        }
    }

    fn tick(&mut self, index: usize) {
        let now_ms = self.schedule.now_ms;
        let member = &mut self.members[index];
        if member.waits_for.is_none()
            && member.stalled_until_ms <= now_ms
            && let Some(request) = member.client.next(now_ms)
        {
            member.requests += 1;
            let exchange = Exchange { member: index, life: member.life, request: member.requests };
            member.waits_for = Some(exchange.request);
            self.transmit(exchange, request);
        }
        self.schedule.add_in(50, 500, Event::Tick(index));
    }

    fn transmit(&mut self, exchange: Exchange, request: Request) {
        self.schedule.add_in(PATIENCE_MS, 1, Event::Patience(exchange));
        if self.schedule.one_in(20) {
            return;
        }
        if self.schedule.one_in(20) && self.members[exchange.member].client.may_repeat() {
            self.schedule.add_in(0, 100, Event::Arrives(exchange, request.clone()));
        }
        // Now and then longer than a session: what arrives then is from a member that was taken for dead.
        let spread_ms = if self.schedule.one_in(20) { PATIENCE_MS } else { 100 };
        self.schedule.add_in(0, spread_ms, Event::Arrives(exchange, request));
    }

    fn collect_answers(&mut self) {
        let mut tokens: Vec<Token> = self.asked.keys().copied().collect();
        tokens.sort_unstable();
        for token in tokens {
            let Some(reply) = self.stepper.take(token) else { continue };
            let exchange = self.asked.remove(&token).expect("it is among the keys");
            if !self.schedule.one_in(20) {
                self.schedule.add_in(0, 100, Event::Answered(exchange, reply));
            }
        }
    }

    /// The member, if it still waits for this request.
    fn waiting(&mut self, exchange: Exchange) -> Option<&mut Member> {
        let member = &mut self.members[exchange.member];
        let waits = member.life == exchange.life && member.waits_for == Some(exchange.request);
        waits.then_some(member)
    }

    fn new_client(&self, index: usize, life: u64) -> Box<dyn Client> {
        // Every third program has a name that it keeps.
        let instance = (index % 3 == 2).then(|| format!("instance-{index}"));
        let name = format!("member-{index}-{life}");
        let classic = match self.mix {
            Mix::Classic => true,
            Mix::Consumer => false,
            Mix::Both => (index as u64 + life).is_multiple_of(2),
        };
        if classic {
            Box::new(ClassicClient::new(instance))
        } else {
            Box::new(ConsumerClient::new(name, instance, self.oracle.topic_id))
        }
    }

    /// One more fault of a random kind, some time from now.
    fn schedule_next_faults(&mut self) {
        if !self.schedule.faulty || self.schedule.now_ms > FAULTS_MS {
            return;
        }
        let index = usize::try_from(self.schedule.below(MEMBERS as u64)).expect("small");
        let event = match self.schedule.below(4) {
            0 => Event::Restart,
            1 => Event::Stall(index),
            _ => Event::Crash(index),
        };
        self.schedule.add_in(1_000, 30_000, event);
    }
}
