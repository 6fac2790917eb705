//! The rows that a clause does not check, and why.

use hashroute::registry::{Agree, Excess, Scheme, Weights};

pub(super) fn never(_: &Scheme) -> Option<&'static str> {
    None
}

/// Waives rows other than sets: only sets promise that order does not matter.
pub(super) fn not_a_set(scheme: &Scheme) -> Option<&'static str> {
    scheme
        .minds_order()
        .then_some("the order of the members decides its routes")
}

/// Waives rows that route by their history of changes: a setup does not hold it.
pub(super) fn no_setup(scheme: &Scheme) -> Option<&'static str> {
    match (scheme.caps(), scheme.agree()) {
        (Some(_), Agree::History | Agree::List) => {
            Some("more than its members and a table decides its routes")
        }
        _ => None,
    }
}

/// Waives dialects: they promise nothing about the keys that a change moves.
pub(super) fn a_dialect(scheme: &Scheme) -> Option<&'static str> {
    scheme
        .is_dialect()
        .then_some("a dialect promises what its system does, even or not")
}

pub(super) fn no_bound_on_excess(scheme: &Scheme) -> Option<&'static str> {
    let Some(caps) = scheme.caps() else {
        return a_dialect(scheme);
    };
    (!caps.excess.is_bounded()).then_some("it states no bound on excess moves")
}

/// Waives rows that state some excess: large clusters are slow to rebuild, and serve to refute
/// exact claims.
pub(super) fn some_excess(scheme: &Scheme) -> Option<&'static str> {
    let Some(caps) = scheme.caps() else {
        return a_dialect(scheme);
    };
    (!caps.excess.is_none()).then_some("it states a bound on excess moves, which is checked apart")
}

/// Waives rows that state no excess, unless loads decide: only then can keys displace each other.
pub(super) fn no_excess_and_no_load(scheme: &Scheme) -> Option<&'static str> {
    let Some(caps) = scheme.caps() else {
        return a_dialect(scheme);
    };
    let plain = matches!(caps.excess, Excess::None) && caps.agree != Agree::Load;
    let plain = plain.then_some("it states no excess moves, which is checked apart");
    plain.or_else(|| no_bound_on_excess(scheme))
}

/// Waives rows in which loads decide: a bound on loads replaces shares.
pub(super) fn no_shares(scheme: &Scheme) -> Option<&'static str> {
    let by_load = scheme.agree() == Agree::Load;
    let by_load = by_load.then_some("loads decide, so that a bound on them replaces shares");
    by_load.or_else(|| a_dialect(scheme))
}

pub(super) fn no_ideal_share(scheme: &Scheme) -> Option<&'static str> {
    no_shares(scheme).or_else(|| no_bound_on_excess(scheme))
}

pub(super) fn no_load_factor(scheme: &Scheme) -> Option<&'static str> {
    if scheme.agree() != Agree::Load {
        return Some("loads do not decide");
    }
    let states = scheme.params.iter().any(|param| param.name == "load");
    (!states).then_some("it states no factor: there is no parameter \"load\"")
}

/// Waives tables and histories: their routes depend on all earlier changes.
pub(super) fn no_way_back(scheme: &Scheme) -> Option<&'static str> {
    match scheme.agree() {
        Agree::Table | Agree::History => Some("its state depends on all changes before"),
        _ => None,
    }
}

pub(super) fn no_weights(scheme: &Scheme) -> Option<&'static str> {
    let Some(caps) = scheme.caps() else {
        return a_dialect(scheme);
    };
    let one = (caps.weights == Weights::One).then_some("it takes no weights");
    one.or_else(|| no_way_back(scheme))
        .or_else(|| not_a_set(scheme))
}

/// Waives dialects: each change rebuilds all servers, and 400 changes of 220 servers take too long.
pub(super) fn no_long_history(scheme: &Scheme) -> Option<&'static str> {
    no_way_back(scheme).or_else(|| a_dialect(scheme))
}

/// Waives strategies that take only weight 1: no node can go down.
pub(super) fn nothing_goes_down(scheme: &Scheme) -> Option<&'static str> {
    let one = scheme
        .caps()
        .is_some_and(|caps| caps.weights == Weights::One);
    one.then_some("it takes no weights, so that none goes down")
        .or_else(|| no_way_back(scheme))
}
