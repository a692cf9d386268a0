use super::*;
use crate::budget::Limit;

fn dollars(text: &str) -> Option<Money> {
    text.parse().ok()
}

#[test]
fn what_one_uses_is_missing_to_it_and_above_and_to_those_beside_it() {
    let top = Purse::default();
    top.set(Left {
        cost: dollars("1"),
        tokens: Some(Tokens(100)),
        ..Left::default()
    });
    let (one, two) = (Purse::below(Some(top.clone())), Purse::below(Some(top.clone())));
    one.set(Left {
        cost: dollars("0.5"),
        ..Left::default()
    });
    assert_eq!(two.reached(Instant::now()), None);
    one.spent(Used {
        cost: dollars("0.4").unwrap(),
        tokens: Tokens(100),
    });
    assert_eq!(two.reached(Instant::now()), Some(Reached::Above(Limit::Tokens)));
    assert_eq!(top.reached(Instant::now()), Some(Reached::Here(Limit::Tokens)));
    assert_eq!(top.left().cost, dollars("0.6"));
    assert_eq!(one.left().cost, dollars("0.1"));
}

#[test]
fn time_runs_out_and_agents_do() {
    let top = Purse::default();
    let now = Instant::now();
    let until = now + Duration::from_secs(5);
    top.set(Left {
        until: Some(until),
        agents: Some(1),
        ..Left::default()
    });
    let below = Purse::below(Some(top));
    assert_eq!(below.reached(now), None);
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
    assert_eq!(below.reached(Instant::now()), Some(Reached::Above(Limit::Steps)));
    top.begin_run();
    assert_eq!(top.steps(), 0);
    assert_eq!(top.take_agent(), Ok(()));
    assert_eq!(below.take_agent(), Err(NoAgent::Depth));
}

#[test]
fn calls_beside_each_other_go_beyond_a_limit_by_one_at_most() {
    let top = Purse::default();
    top.set(Left {
        cost: dollars("1"),
        ..Left::default()
    });
    let (one, two) = (Purse::below(Some(top.clone())), Purse::below(Some(top.clone())));
    let most = |cost: &str| Used {
        cost: dollars(cost).unwrap(),
        tokens: Tokens::ZERO,
    };
    let first = one
        .keep(most("0.6"))
        .unwrap_or_else(|_| panic!("there is enough"));
    let second = two
        .keep(most("0.6"))
        .unwrap_or_else(|_| panic!("there is some left"));
    let Err(ended) = Purse::below(Some(top.clone())).keep(most("0.1")) else {
        panic!("the two may use all there is");
    };
    assert!(!ended.has_changed().unwrap());
    one.spent(most("0.2"));
    drop(first);
    assert!(ended.has_changed().unwrap());
    assert!(one.keep(most("5")).is_ok(), "{:?}", top.left());
    drop(second);
    top.set_beside_others(Left {
        cost: dollars("0.5"),
        ..Left::default()
    });
    assert_eq!(top.left().cost, dollars("0.3"), "what was used below is missing");
    assert_eq!(two.dearest(), dollars("0.2").unwrap());
}
