//! Byte-pair encoding of one piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::token;

/// Number of tokens of a piece.
pub fn count(piece: &[u8]) -> usize {
    match piece.len() {
        0 | 1 => piece.len(),
        _ if token(piece).is_some() => 1,
        _ => Parts::of(piece).join(),
    }
}

/// A piece in parts, each of which is a token; at first single bytes. Parts are known by the byte they begin with.
struct Parts<'a> {
    piece: &'a [u8],
    /// End of the part that begins here; zero if none does.
    ends: Vec<usize>,
    /// Beginning of the part before.
    before: Vec<usize>,
    /// Pairs that would make a token: its number, where the first part begins, and where the second ends. Pairs of which
    /// a part is gone stay in it until they are met.
    pairs: BinaryHeap<Reverse<(u32, usize, usize)>>,
    count: usize,
}

impl<'a> Parts<'a> {
    fn of(piece: &'a [u8]) -> Self {
        let mut parts = Parts {
            piece,
            ends: (1..=piece.len()).collect(),
            before: (0..piece.len()).map(|at| at.saturating_sub(1)).collect(),
            pairs: BinaryHeap::with_capacity(piece.len()),
            count: piece.len(),
        };
        for first in 0..piece.len() {
            parts.note_pair(first);
        }
        parts
    }

    /// Notes the pair of the part that begins here and the one after it.
    fn note_pair(&mut self, first: usize) {
        let second = self.ends[first];
        if second < self.piece.len() {
            let end = self.ends[second];
            if let Some(token) = token(&self.piece[first..end]) {
                self.pairs.push(Reverse((token, first, end)));
            }
        }
    }

    /// Joins pairs, that with the smallest number first and of equal ones the leftmost; gives the number of parts left.
    fn join(mut self) -> usize {
        while let Some(Reverse((_, first, end))) = self.pairs.pop() {
            let second = self.ends[first];
            let is_there = second != 0 && second < self.piece.len() && self.ends[second] == end;
            if !is_there {
                continue;
            }
            self.ends[first] = end;
            self.ends[second] = 0;
            self.count -= 1;
            if end < self.piece.len() {
                self.before[end] = first;
            }
            self.note_pair(first);
            if first > 0 {
                self.note_pair(self.before[first]);
            }
        }
        self.count
    }
}
