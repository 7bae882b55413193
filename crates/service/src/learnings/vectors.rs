//! Compact vectors, compared exactly: one byte per dimension, a dot product that the compiler turns into SIMD.

use super::rank;

pub use judge::embedder::DIMENSIONS;

/// A vector of length one with a byte for each dimension, ready to be compared.
#[derive(Clone, Debug)]
pub struct Compact {
    scale: f32,
    /// Signed, in two's complement.
    values: Vec<u8>,
}

impl Compact {
    /// None for a vector without a direction.
    pub fn new(vector: &[f32]) -> Option<Self> {
        let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        let largest = vector.iter().fold(0.0_f32, |largest, v| largest.max(v.abs()));
        if !length.is_normal() {
            return None;
        }
        let step = largest / 127.0;
        #[allow(clippy::cast_possible_truncation)] // within ±127 by construction
        let values = vector.iter().map(|v| ((v / step).round() as i8).cast_unsigned()).collect();
        Some(Compact { scale: step / length, values })
    }

    /// As it is stored: the scale, then the bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.scale.to_le_bytes().to_vec();
        bytes.extend(&self.values);
        bytes
    }

    /// Reads the bytes of [`Compact::to_bytes`]; `None` if they are no vector.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, values) = bytes.split_first_chunk::<4>()?;
        Some(Compact { scale: f32::from_le_bytes(*scale), values: values.to_vec() })
    }

    /// The cosine of the angle to a stored vector; none when it is of another length.
    pub fn similarity(&self, stored: &[u8]) -> Option<f32> {
        let (scale, values) = stored.split_first_chunk::<4>()?;
        if values.len() != self.values.len() {
            return None;
        }
        Some(dot(&self.values, values) as f32 * self.scale * f32::from_le_bytes(*scale))
    }

    /// The cosine of the angle to another one; none when it is of another length.
    pub fn cosine(&self, other: &Self) -> Option<f32> {
        if self.values.len() != other.values.len() {
            return None;
        }
        Some(dot(&self.values, &other.values) as f32 * self.scale * other.scale)
    }
}

/// Without closures: in a build whose units are not linked as a whole, one that lands in another unit is called for each
/// value.
fn dot(a: &[u8], b: &[u8]) -> i32 {
    let mut sum = 0;
    for (a, b) in a.iter().zip(b) {
        sum += i32::from(a.cast_signed()) * i32::from(b.cast_signed());
    }
    sum
}

/// The best `most` of `rows` by similarity, at least `threshold`; ties go to the newer row.
pub fn nearest<'v>(
    query: &Compact,
    rows: impl Iterator<Item = (i64, &'v [u8])>,
    threshold: f32,
    most: usize,
) -> Vec<i64> {
    let near = rows
        .filter_map(|(no, vector)| Some((query.similarity(vector)?, no)))
        .filter(|(similarity, _)| *similarity >= threshold)
        .map(|(similarity, no)| (f64::from(similarity), no));
    rank::best(near.collect(), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(vector: &[f32]) -> Vec<u8> {
        Compact::new(vector).unwrap().to_bytes()
    }

    #[test]
    fn similarities_survive_the_compaction() {
        let a: Vec<f32> = (0..256_u16).map(|n| (f32::from(n) * 0.7).sin()).collect();
        let b: Vec<f32> =
            (0..256_u16).map(|n| (f32::from(n) * 0.7).sin() + (f32::from(n) * 1.3).cos()).collect();
        let exact = {
            let dot: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let length = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
            dot / (length(&a) * length(&b))
        };
        let compact = Compact::new(&a).unwrap().similarity(&bytes(&b)).unwrap();
        assert!((exact - compact).abs() < 0.005, "{exact} {compact}");
        let same = Compact::new(&a).unwrap().similarity(&bytes(&a)).unwrap();
        assert!((same - 1.0).abs() < 0.005);
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_passed_over() {
        assert!(Compact::new(&[0.0, 0.0]).is_none());
        assert!(Compact::new(&[]).is_none());
        assert!(Compact::new(&[f32::NAN]).is_none());
        let query = Compact::new(&[1.0, 2.0]).unwrap();
        assert_eq!(query.similarity(&bytes(&[1.0])), None);
        assert_eq!(query.similarity(&[1, 2]), None);
    }

    #[test]
    fn the_nearest_come_first_down_to_the_threshold() {
        let rows = [
            (1, bytes(&[0.0, 1.0])),
            (2, bytes(&[1.0, 1.0])),
            (3, bytes(&[1.0, 0.0])),
            (4, bytes(&[1.0, 0.0])),
        ];
        let query = Compact::new(&[1.0, 0.0]).unwrap();
        let rows = || rows.iter().map(|(no, vector)| (*no, vector.as_slice()));
        assert_eq!(nearest(&query, rows(), 0.5, 10), [4, 3, 2]);
        assert_eq!(nearest(&query, rows(), -1.0, 2), [4, 3]);
    }
}
