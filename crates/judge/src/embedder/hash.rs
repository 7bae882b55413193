//! Hashed words as vectors: the same every time, without a model. It finds shared words and shared parts of
//! words, nothing more.

use base::words;

const DIMENSIONS: usize = 256;

pub fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    for term in words::terms(text) {
        add(&mut vector, &term, 1.0);
        let chars: Vec<char> = term.chars().collect();
        for part in chars.windows(3) {
            add(&mut vector, &String::from_iter(part), 0.3);
        }
    }
    vector
}

fn add(vector: &mut [f32], feature: &str, weight: f32) {
    // FNV-1a with a last stir, because short texts hardly reach its high bits.
    let hash = feature.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let place = usize::try_from(hash >> 32).unwrap_or(0) % vector.len();
    vector[place] += if hash & 1 == 0 { weight } else { -weight };
}

#[cfg(test)]
mod tests {
    use super::embed;

    #[test]
    fn the_same_text_gives_the_same_vector_and_other_words_another() {
        assert_eq!(embed("refund the order"), embed("Refund: the ORDER"));
        assert_ne!(embed("refund the order"), embed("ship the order"));
    }

    #[test]
    fn shared_parts_of_words_are_near_and_others_are_not() {
        let near = |a: &str, b: &str| {
            let (a, b) = (embed(a), embed(b));
            let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
            dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
        };
        let (same, other) = ("Enjoys photography", "Speaks Portuguese");
        assert!(near("photographic", same) > near("photographic", other) + 0.1);
    }
}
