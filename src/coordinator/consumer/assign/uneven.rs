//! Even and sticky as far as subscriptions allow (Kafka's `UniformHeterogeneousAssignmentBuilder`).
//!
//! Topics with the most partitions for each subscriber come first, as they leave the least choice. What nobody has goes to
//! the subscriber with the least; then, topic by topic, partitions move from the one with the most to the one with the least
//! until these two differ by no more than one. With subscriptions that overlap, one topic's moves can make room for another's,
//! hence several rounds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{NOBODY, Owners, Problem, number};

/// Rounds over all topics. Each halves what is uneven, more or less; one is enough unless subscriptions overlap.
const ROUNDS_MAX: usize = 16;

pub(super) fn assign(problem: &Problem<'_>, topics_of: &[Vec<usize>]) -> Owners {
    let subscribers = subscribers(problem, topics_of);
    let owners =
        Owners::kept(problem, |member, topic| topics_of[member].binary_search(&topic).is_ok());
    let loads = owners.loads(problem.members.len());
    let mut state = State { owners, loads };
    let order = order(problem, &subscribers);
    for topic in &order {
        state.fill(*topic, &subscribers[*topic]);
    }
    for _ in 0..ROUNDS_MAX {
        let mut moved = 0;
        for topic in &order {
            moved += state.level(*topic, &subscribers[*topic]);
        }
        if moved == 0 {
            break;
        }
    }
    state.owners
}

/// The members that subscribe to each topic.
fn subscribers(problem: &Problem<'_>, topics_of: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut subscribers = vec![Vec::new(); problem.topics.len()];
    for (member, topics) in topics_of.iter().enumerate() {
        for topic in topics {
            subscribers[*topic].push(member);
        }
    }
    subscribers
}

/// Topics that somebody subscribes to: the most partitions for each subscriber first, then the fewest subscribers.
fn order(problem: &Problem<'_>, subscribers: &[Vec<usize>]) -> Vec<usize> {
    let is_wanted = |topic: &usize| !subscribers[*topic].is_empty();
    let mut order: Vec<usize> = (0..subscribers.len()).filter(is_wanted).collect();
    order.sort_by(|a, b| {
        let (a_wanted, b_wanted) = (subscribers[*a].len() as u64, subscribers[*b].len() as u64);
        let a_share = u64::from(problem.topics[*a].partitions) * b_wanted;
        let b_share = u64::from(problem.topics[*b].partitions) * a_wanted;
        b_share.cmp(&a_share).then(a_wanted.cmp(&b_wanted)).then(a.cmp(b))
    });
    order
}

struct State {
    owners: Owners,
    /// How many partitions each member has.
    loads: Vec<usize>,
}

impl State {
    /// Gives away what nobody has.
    fn fill(&mut self, topic: usize, subscribers: &[usize]) {
        let mut least: BinaryHeap<_> =
            subscribers.iter().map(|member| Reverse((self.loads[*member], *member))).collect();
        for owner in self.owners.0[topic].iter_mut().filter(|owner| **owner == NOBODY) {
            let Some(mut top) = least.peek_mut() else { return };
            let Reverse((load, member)) = &mut *top;
            *owner = number(*member);
            *load += 1;
            self.loads[*member] = *load;
        }
    }

    /// Moves partitions of a topic until its subscribers are even, as far as this topic can make them; how many it moved.
    fn level(&mut self, topic: usize, subscribers: &[usize]) -> usize {
        let loads = || subscribers.iter().map(|member| self.loads[*member]);
        let (min, max) = (loads().min().unwrap_or(0), loads().max().unwrap_or(0));
        if max - min <= 1 {
            return 0;
        }
        let mut holdings = self.holdings(topic);
        let mut least: BinaryHeap<_> =
            subscribers.iter().map(|member| Reverse((self.loads[*member], *member))).collect();
        let mut most: BinaryHeap<_> =
            (0..holdings.len()).map(|at| (self.loads[holdings[at].member], Reverse(at))).collect();
        let mut moved = 0;
        while let Some((giver_load, Reverse(at))) = most.pop() {
            let holding = &mut holdings[at];
            let (giver, taker) = (holding.member, least_loaded(&mut least, &self.loads));
            let Some(taker) = taker else { break };
            if giver_load != self.loads[giver] {
                // It was given something meanwhile.
                most.push((self.loads[giver], Reverse(at)));
                continue;
            }
            if giver_load <= self.loads[taker] + 1 {
                break;
            }
            let Some(partition) = holding.partitions.pop() else { continue };
            self.owners.0[topic][partition] = number(taker);
            self.loads[giver] -= 1;
            self.loads[taker] += 1;
            most.push((self.loads[giver], Reverse(at)));
            moved += 1;
        }
        moved
    }

    /// Who has which partitions of a topic.
    fn holdings(&self, topic: usize) -> Vec<Holding> {
        let mut by_owner: Vec<(u32, usize)> = self.owners.0[topic]
            .iter()
            .copied()
            .zip(0..)
            .filter(|(owner, _)| *owner != NOBODY)
            .collect();
        by_owner.sort_unstable();
        let holding = |chunk: &[(u32, usize)]| Holding {
            member: chunk[0].0 as usize,
            partitions: chunk.iter().map(|(_, partition)| *partition).collect(),
        };
        by_owner.chunk_by(|a, b| a.0 == b.0).map(holding).collect()
    }
}

struct Holding {
    member: usize,
    partitions: Vec<usize>,
}

/// The member with the fewest partitions. Entries of the heap that are out of date are put right on the way.
fn least_loaded(least: &mut BinaryHeap<Reverse<(usize, usize)>>, loads: &[usize]) -> Option<usize> {
    loop {
        let mut top = least.peek_mut()?;
        let Reverse((load, member)) = &mut *top;
        if *load == loads[*member] {
            return Some(*member);
        }
        *load = loads[*member];
    }
}
