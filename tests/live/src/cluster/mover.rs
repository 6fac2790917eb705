//! Sends the commands of a plan, for many slots at a time.

use hashroute::redis::{Action, Address};
use redis::{Cmd, FromRedisValue, Value};

use super::servers::{Servers, command};
use crate::tally::Fallible;

/// The keys of a slot that must move.
struct Emptying {
    at: Address,
    list: Cmd,
    migrate: Cmd,
    count: Cmd,
}

/// Sends rows of commands, one row for each slot. Within a slot the order is that of the plan.
/// Slots do not wait for each other: the first command of all slots is sent, then the second. Calls
/// `between` after each batch of keys.
pub(super) fn perform(
    servers: &mut Servers,
    rows: &[Vec<Action>],
    between: &mut dyn FnMut(&mut Servers) -> Fallible<()>,
) -> Fallible<()> {
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    for column in 0..longest {
        let (mut sends, mut slots) = (Vec::new(), Vec::new());
        for action in rows.iter().filter_map(|row| row.get(column)) {
            match action {
                Action::Send { at, command: line } => sends.push((at.clone(), command(line))),
                Action::Empty {
                    at,
                    list,
                    migrate,
                    count,
                } => slots.push(Emptying {
                    at: at.clone(),
                    list: command(list),
                    migrate: command(migrate),
                    count: command(count),
                }),
                _ => return Err("these servers have no atomic move".into()),
            }
        }
        servers.pipelines(sends)?;
        empty(servers, slots, between)?;
    }
    Ok(())
}

fn empty(
    servers: &mut Servers,
    mut slots: Vec<Emptying>,
    between: &mut dyn FnMut(&mut Servers) -> Fallible<()>,
) -> Fallible<()> {
    loop {
        let counts: Vec<u64> = answers(servers, &slots, |slot| slot.count.clone())?;
        let mut counts = counts.into_iter();
        slots.retain(|_| counts.next() != Some(0));
        if slots.is_empty() {
            return Ok(());
        }
        let keys: Vec<Vec<Vec<u8>>> = answers(servers, &slots, |slot| slot.list.clone())?;
        let mut keys = keys.into_iter();
        answers::<Value>(servers, &slots, |slot| {
            let mut migrate = slot.migrate.clone();
            migrate.arg(keys.next().unwrap_or_default());
            migrate
        })?;
        between(servers)?;
    }
}

fn answers<T: FromRedisValue>(
    servers: &mut Servers,
    slots: &[Emptying],
    command: impl FnMut(&Emptying) -> Cmd,
) -> Fallible<Vec<T>> {
    let commands = slots.iter().map(|slot| slot.at.clone());
    let commands = commands.zip(slots.iter().map(command)).collect();
    let values = servers.pipelines(commands)?.into_iter();
    Ok(values
        .map(redis::from_redis_value)
        .collect::<Result<_, _>>()?)
}
