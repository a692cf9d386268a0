use std::time::UNIX_EPOCH;

use super::*;

fn dollars(text: &str) -> Option<Money> {
    text.parse().ok()
}

#[test]
fn what_one_below_uses_is_missing_above_and_to_those_beside_it() {
    let top = Purse::default();
    top.set(Left {
        cost: dollars("1"),
        tokens: Some(Tokens(100)),
        ..Left::default()
    });
    let (one, two) = (Purse::below(Some(top.clone())), Purse::below(Some(top.clone())));
    assert_eq!(two.reached(UNIX_EPOCH), None);
    one.spent(dollars("0.4").unwrap(), Tokens(100));
    assert_eq!(two.reached(UNIX_EPOCH), Some(Reached::Above(Limit::Tokens)));
    assert_eq!(top.reached(UNIX_EPOCH), Some(Reached::Here(Limit::Tokens)));
    assert_eq!(top.left().cost, dollars("0.6"));
}

#[test]
fn time_runs_out_and_agents_do() {
    let top = Purse::default();
    let until = UNIX_EPOCH + Duration::from_secs(5);
    top.set(Left {
        until: Some(until),
        agents: Some(1),
        ..Left::default()
    });
    let below = Purse::below(Some(top));
    assert_eq!(below.reached(UNIX_EPOCH), None);
    assert_eq!(below.reached(until), Some(Reached::Above(Limit::Time)));
    assert_eq!(below.take_agent(), Ok(()));
    assert_eq!(below.take_agent(), Err(NoAgent::Number));
}

#[test]
fn steps_below_count_above_until_the_next_run_and_levels_end() {
    let top = Purse::default();
    top.set(Left {
        steps: Some(2),
        depth: Some(1),
        ..Left::default()
    });
    let below = Purse::below(Some(top.clone()));
    top.step();
    below.step();
    assert_eq!((below.steps(), top.steps()), (1, 2));
    assert_eq!(below.reached(UNIX_EPOCH), Some(Reached::Above(Limit::Steps)));
    top.begin_run();
    assert_eq!(top.steps(), 0);
    assert_eq!(top.take_agent(), Ok(()));
    assert_eq!(below.take_agent(), Err(NoAgent::Depth));
}
