//! Even and sticky, where all members subscribe to the same topics (Kafka's `UniformHomogeneousAssignmentBuilder`).
//!
//! Everyone gets the same number of partitions or one more. Members keep what they have up to that number; who has more than
//! the lower number already is among those who get one more, so that no partition moves that need not. (Kafka gives it to
//! whoever comes first in no particular order.)

use super::{NOBODY, Owners, Problem, number};

pub(super) fn assign(problem: &Problem<'_>) -> Owners {
    let mut owners = Owners::kept(problem, |_, _| true);
    if problem.members.is_empty() {
        return owners;
    }
    let mut loads = owners.loads(problem.members.len());
    let quotas = quotas(&loads, owners.0.iter().map(Vec::len).sum());
    release_surplus(&mut owners, &mut loads, &quotas);
    let mut next = unfilled_from(0, &loads, &quotas);
    for owner in owners.0.iter_mut().flatten().filter(|owner| **owner == NOBODY) {
        let Some(member) = next else { break };
        *owner = number(member);
        loads[member] += 1;
        if loads[member] == quotas[member] {
            next = unfilled_from(member + 1, &loads, &quotas);
        }
    }
    owners
}

/// How many partitions each member is to have.
fn quotas(loads: &[usize], partitions: usize) -> Vec<usize> {
    let (lower, mut extra) = (partitions / loads.len(), partitions % loads.len());
    let mut quotas = vec![lower; loads.len()];
    let has_more = (0..loads.len()).filter(|member| loads[*member] > lower);
    let has_less = (0..loads.len()).filter(|member| loads[*member] <= lower);
    for member in has_more.chain(has_less) {
        if extra == 0 {
            break;
        }
        quotas[member] += 1;
        extra -= 1;
    }
    quotas
}

/// Takes what is over the quota, the last partitions first.
fn release_surplus(owners: &mut Owners, loads: &mut [usize], quotas: &[usize]) {
    for owner in owners.0.iter_mut().rev().flat_map(|topic| topic.iter_mut().rev()) {
        let member = *owner as usize;
        if *owner != NOBODY && loads[member] > quotas[member] {
            loads[member] -= 1;
            *owner = NOBODY;
        }
    }
}

fn unfilled_from(first: usize, loads: &[usize], quotas: &[usize]) -> Option<usize> {
    (first..loads.len()).find(|member| loads[*member] < quotas[*member])
}
