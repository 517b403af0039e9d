//! Consecutive partitions of each topic (Kafka's `RangeAssignor`).
//!
//! Members in order, static ones first by the name of their instance, take equal ranges of each topic that they subscribe to;
//! the first ones take one more where it does not divide. Topics with the same number of partitions and the same subscribers
//! are so divided in the same way, which joins of streams rely on. It is not sticky but for static members.

use super::{Owners, Problem, Subscriptions, number};

pub(super) fn assign(problem: &Problem<'_>) -> Owners {
    let mut owners = Owners::none(problem);
    let order = order(problem);
    match &problem.subscriptions {
        Subscriptions::Same => {
            for topic in &mut owners.0 {
                divide(topic, &order);
            }
        }
        Subscriptions::Each(topics_of) => {
            let mut subscribers = vec![Vec::new(); problem.topics.len()];
            for member in order {
                for topic in &topics_of[member] {
                    subscribers[*topic].push(member);
                }
            }
            for (topic, subscribers) in owners.0.iter_mut().zip(&subscribers) {
                divide(topic, subscribers);
            }
        }
    }
    owners
}

/// Members in the order in which they take their ranges.
fn order(problem: &Problem<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..problem.members.len()).collect();
    order.sort_by_key(|member| {
        let instance = problem.members[*member].instance;
        (instance.is_none(), instance, *member)
    });
    order
}

fn divide(partitions: &mut [u32], members: &[usize]) {
    if members.is_empty() {
        return;
    }
    let (lower, extra) = (partitions.len() / members.len(), partitions.len() % members.len());
    let mut rest = partitions;
    for (index, member) in members.iter().enumerate() {
        let (range, after) = rest.split_at_mut(lower + usize::from(index < extra));
        range.fill(number(*member));
        rest = after;
    }
}
