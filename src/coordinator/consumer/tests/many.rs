//! Large groups.

use super::*;

#[test]
fn a_thousand_members_join_and_settle() {
    let mut bench = Bench::with(GroupSettings::default());
    bench.stepper.topic("t", 2_000);
    let mut members: Vec<_> =
        (0..1_000).map(|n| Consumer::new(&format!("member-{n:04}"), &["t"])).collect();
    for member in &mut members {
        bench.join(member);
    }
    for _ in 0..4 {
        bench.stepper.advance_ms(5_000);
        for member in &mut members {
            bench.beat(member);
        }
    }
    assert!(members.iter().all(|member| member.owned.len() == 2));
    assert_eq!(bench.group().state(), "Stable");
    let mark = bench.mark();
    for member in &mut members {
        bench.beat(member);
    }
    assert_eq!(bench.mark(), mark);
    // One leaves: its partitions go to others, nobody else loses any.
    let gone = members.remove(500);
    bench.send(Consumer { epoch: -1, ..gone }.delta());
    bench.stepper.advance_ms(5_000);
    let before: Vec<_> = members.iter().map(|member| member.owned.clone()).collect();
    for member in &mut members {
        bench.beat(member);
    }
    assert!(members.iter().zip(&before).all(|(member, before)| before.is_subset(&member.owned)));
    assert_eq!(members.iter().map(|member| member.owned.len()).sum::<usize>(), 2_000);
}
