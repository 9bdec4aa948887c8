//! Breaks bytes in the ways that fuzzers do, always in the same order.

/// Numbers that decide how (xorshift64*).
pub struct Mutation {
    state: u64,
}

/// Values that lengths and counts go wrong by.
const EDGES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

impl Mutation {
    pub fn new(seed: u64) -> Self {
        Self { state: seed | 1 }
    }

    /// A copy of `bytes` with one to four things wrong.
    pub fn of(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.draw(3) {
            let at = self.draw(bytes.len());
            match self.draw(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, EDGES[self.draw(EDGES.len())]),
                2 if !bytes.is_empty() => drop(bytes.remove(at)),
                3 if !bytes.is_empty() => bytes[at] ^= 1 << self.draw(8),
                4 => {
                    let (from, to) = (at, at + self.draw(16).min(bytes.len() - at));
                    let copied = bytes[from..to].to_vec();
                    let into = self.draw(bytes.len());
                    bytes.splice(into..into, copied);
                }
                _ if !bytes.is_empty() => bytes[at] = EDGES[self.draw(EDGES.len())],
                _ => {}
            }
        }
        bytes
    }

    /// Below `below`; 0 where there is nothing below.
    fn draw(&mut self, below: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let number = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        if below == 0 { 0 } else { number as usize % below }
    }
}
