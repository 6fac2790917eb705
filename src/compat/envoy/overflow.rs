//! `hash_balance_factor`: the server that takes a key if its owner is overloaded.

use smallvec::SmallVec;

use crate::NodeId;
use crate::compat::Server;
use crate::compat::parts::ring_hash::{ceil, total_weight};
use crate::compat::parts::servers::up;

pub(super) fn choose(
    factor: u32,
    hash: u64,
    owner: NodeId,
    servers: &[(NodeId, Server)],
    loads: &dyn Fn(NodeId) -> u64,
) -> NodeId {
    // Envoy computes in 32 bits that wrap: a large factor overflows.
    let held = |id| u32::try_from(loads(id)).unwrap_or(u32::MAX);
    let active = servers.iter().map(|(id, _)| held(*id));
    let active = active.fold(0, u32::wrapping_add);
    let slots = active.wrapping_add(1).wrapping_mul(factor).wrapping_add(99) / 100;
    let total = total_weight(servers);
    // Up to 1 is no overload, so a server with all its slots full takes one request more.
    let overload = |(id, server): (NodeId, &Server)| {
        let weight = f64::from(server.weight()) / total as f64;
        f64::from(held(id)) / ceil(f64::from(slots) * weight).max(1.0)
    };
    let all = || up(servers).map(|member| (member.0, overload(member)));
    // The usual case allocates nothing: only the owner's load is needed.
    let Some((_, own)) = all().find(|(id, _)| *id == owner) else {
        return owner;
    };
    if own <= 1.0 {
        return owner;
    }
    let mut members: SmallVec<[(NodeId, f64); 64]> = all().collect();
    let mut random = Twister::new(hash);
    let (mut least, mut lightest) = (own, owner);
    for at in 0..members.len() {
        let other = at + random.below(members.len() - at);
        members.swap(at, other);
        let (id, overload) = members[at];
        if id != owner && overload <= 1.0 {
            return id;
        }
        if id != owner && overload < least {
            (least, lightest) = (overload, id);
        }
    }
    lightest
}

/// The Mersenne Twister MT19937 of Matsumoto and Nishimura (1998): 624 words.
struct Twister {
    state: [u32; WORDS],
    at: usize,
}

const WORDS: usize = 624;
const MIDDLE: usize = 397;

impl Twister {
    /// Seeds with the lower half of a hash.
    fn new(hash: u64) -> Self {
        let mut state = [0; WORDS];
        let mut word = (hash & 0xffff_ffff) as u32;
        for (number, element) in (1_u32..).zip(&mut state) {
            *element = word;
            word = (word ^ (word >> 30)).wrapping_mul(1_812_433_253);
            word = word.wrapping_add(number);
        }
        Self { state, at: WORDS }
    }

    fn next(&mut self) -> u32 {
        if self.at >= WORDS {
            for at in 0..WORDS {
                let (this, next) = (self.state[at], self.state[(at + 1) % WORDS]);
                let joined = (this & 0x8000_0000) | (next & 0x7fff_ffff);
                let odd = (joined & 1) * 0x9908_b0df;
                self.state[at] = self.state[(at + MIDDLE) % WORDS] ^ (joined >> 1) ^ odd;
            }
            self.at = 0;
        }
        let mut word = self.state[self.at];
        self.at += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Draws a number below `count`. Divides by an equal step for each number, and draws again for
    /// the remainder, so all numbers are equally likely.
    fn below(&mut self, count: usize) -> usize {
        let step = (1_u64 << 32) / (count as u64).max(1);
        loop {
            let number = u64::from(self.next()) / step.max(1);
            match usize::try_from(number) {
                Ok(number) if number < count => return number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_10000th_number_is_the_one_of_the_standard() {
        // C++ requires the 10000th number after the seed 5489 to be this one.
        let mut random = Twister::new(5489);
        let last = (0..10_000).fold(0, |_, _| random.next());
        assert_eq!(last, 4_123_659_995);
    }
}
