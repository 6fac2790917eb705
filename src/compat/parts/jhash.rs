//! Bob Jenkins's hash over words, in the form of the Linux kernel (`jhash`). Katran and Cilium hash
//! flows with it.

const START: u32 = 0xdead_beef;

/// Returns the hash of two or three words.
pub(in crate::compat) fn words<const N: usize>(words: [u32; N], seed: u32) -> u32 {
    let start = seed.wrapping_add(START);
    let start = words.iter().fold(start, |start, _| start.wrapping_add(4));
    let mut state = [start; 3];
    add(&mut state, &words);
    last(state)
}

/// Returns the hash of the 16 bytes of an IPv6 address.
pub(in crate::compat) fn address(words: [u32; 4], seed: u32) -> u32 {
    let start = seed.wrapping_add(START).wrapping_add(16);
    let mut state = [start; 3];
    add(&mut state, &words[..3]);
    state = mix(state);
    add(&mut state, &words[3..]);
    last(state)
}

pub(in crate::compat) fn add(state: &mut [u32; 3], words: &[u32]) {
    for (word, more) in state.iter_mut().zip(words) {
        *word = word.wrapping_add(*more);
    }
}

pub(in crate::compat) fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

pub(in crate::compat) fn last([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    let step = |to: u32, from: u32, bits| (to ^ from).wrapping_sub(from.rotate_left(bits));
    c = step(c, b, 14);
    a = step(a, c, 11);
    b = step(b, a, 25);
    c = step(c, b, 16);
    a = step(a, c, 4);
    b = step(b, a, 14);
    step(c, b, 24)
}

/// Returns the words of a packet, as a little-endian machine reads them; `None` for another length.
pub(in crate::compat) fn packet<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let mut words = [0; N];
    if bytes.len() != 4 * N {
        return None;
    }
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup3_gives_the_values_of_its_own_driver() {
        let text = b"Four score and seven years ago";
        assert_eq!(bytes(text, 0), 0x1777_0551);
        assert_eq!(bytes(text, 1), 0xcd62_8161);
    }

    /// Hashes any bytes with the same steps.
    fn bytes(text: &[u8], seed: u32) -> u32 {
        let len = u32::try_from(text.len()).unwrap_or(0);
        let start = START.wrapping_add(len).wrapping_add(seed);
        let mut state = [start; 3];
        let mut rest = text;
        while rest.len() > 12 {
            add(&mut state, &packet::<3>(&rest[..12]).unwrap_or_default());
            state = mix(state);
            rest = &rest[12..];
        }
        let mut end = [0; 12];
        end[..rest.len()].copy_from_slice(rest);
        add(&mut state, &packet::<3>(&end).unwrap_or_default());
        last(state)
    }

    #[test]
    fn an_address_hashes_like_its_bytes() {
        let text = b"0123456789abcdef";
        let words = packet::<4>(text).unwrap_or_default();
        assert_eq!(address(words, 7), bytes(text, 7));
        assert_eq!(packet::<4>(b"short"), None);
    }
}
