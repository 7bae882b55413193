//! The little linear algebra that is needed: quadratic forms, and 2 × 2 matrices.

/// `d' M⁻¹ d` for a symmetric positive definite `M`, by Cholesky's decomposition.
///
/// `None` when `M` is not positive definite to working precision.
pub(super) fn inverse_quadratic_form(matrix: &[Vec<f64>], vector: &[f64]) -> Option<f64> {
    const SINGULAR: f64 = 1e-12;
    let dot =
        |one: &[f64], other: &[f64]| -> f64 { one.iter().zip(other).map(|(a, b)| a * b).sum() };
    // Each finished row of the triangle, with its diagonal apart.
    let mut rows: Vec<(Vec<f64>, f64)> = Vec::with_capacity(matrix.len());
    let mut solved: Vec<f64> = Vec::with_capacity(vector.len());
    for (position, (entries, target)) in matrix.iter().zip(vector).enumerate() {
        let mut row = Vec::with_capacity(position);
        for (entry, (earlier, diagonal)) in entries.iter().zip(&rows) {
            let value = (entry - dot(&row, earlier)) / diagonal;
            row.push(value);
        }
        let own = entries.get(position).copied()?;
        let square = own - dot(&row, &row);
        if square.is_nan() || square <= SINGULAR * own {
            return None;
        }
        let diagonal = square.sqrt();
        solved.push((target - dot(&row, &solved)) / diagonal);
        rows.push((row, diagonal));
    }
    Some(dot(&solved, &solved))
}

/// A column of two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Vector2(pub f64, pub f64);

impl Vector2 {
    pub(super) fn dot(self, other: Self) -> f64 {
        self.0 * other.0 + self.1 * other.1
    }

    /// `v·v'`.
    pub(super) fn outer(self) -> Matrix2 {
        Matrix2(self.0 * self.0, self.0 * self.1, self.1 * self.0, self.1 * self.1)
    }
}

/// A 2 × 2 matrix, by rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Matrix2(pub f64, pub f64, pub f64, pub f64);

impl Matrix2 {
    pub(super) fn times(self, v: Vector2) -> Vector2 {
        Vector2(self.0 * v.0 + self.1 * v.1, self.2 * v.0 + self.3 * v.1)
    }

    pub(super) fn product(self, other: Self) -> Self {
        let first = self.times(Vector2(other.0, other.2));
        let second = self.times(Vector2(other.1, other.3));
        Self(first.0, second.0, first.1, second.1)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1, self.2 + other.2, self.3 + other.3)
    }

    pub(super) fn trace(self) -> f64 {
        self.0 + self.3
    }

    pub(super) fn determinant(self) -> f64 {
        self.0 * self.3 - self.1 * self.2
    }

    /// The inverse; `None` when the determinant is not positive.
    pub(super) fn inverse(self) -> Option<Self> {
        let determinant = self.determinant();
        (determinant > 0.0).then(|| {
            Self(
                self.3 / determinant,
                -self.1 / determinant,
                -self.2 / determinant,
                self.0 / determinant,
            )
        })
    }

    /// `(I − K)^{-1/2}` for a matrix `K` with eigenvalues in `[0, 1)`.
    ///
    /// With `R = I − K` and `δ = √det R`, Cayley and Hamilton give
    /// `R^{-1/2} = (adj R + δ·I) / (δ·√(tr R + 2δ))`. `None` when an eigenvalue of `K` is 1 to
    /// working precision.
    pub(super) fn inverse_root_of_complement(self) -> Option<Self> {
        const SINGULAR: f64 = 1e-10;
        let complement = Self(1.0 - self.0, -self.1, -self.2, 1.0 - self.3);
        let determinant = complement.determinant();
        if determinant.is_nan() || determinant <= SINGULAR {
            return None;
        }
        let delta = determinant.sqrt();
        let scale = (delta * (complement.trace() + 2.0 * delta).sqrt()).recip();
        Some(Self(
            (complement.3 + delta) * scale,
            -complement.1 * scale,
            -complement.2 * scale,
            (complement.0 + delta) * scale,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadratic_form_of_a_known_inverse() {
        let matrix = [vec![4.0, 2.0], vec![2.0, 3.0]];
        // The inverse is [[3, −2], [−2, 4]] / 8.
        let form = inverse_quadratic_form(&matrix, &[1.0, 2.0]);
        assert!(form.is_some_and(|form| (form - 11.0 / 8.0).abs() < 1e-15));
        let singular = [vec![1.0, 1.0], vec![1.0, 1.0]];
        assert_eq!(inverse_quadratic_form(&singular, &[1.0, 2.0]), None);
    }

    #[test]
    fn the_inverse_root_squared_is_the_inverse() {
        let k = Matrix2(0.3, 0.1, 0.2, 0.4);
        let root = k.inverse_root_of_complement().unwrap_or_default();
        let complement = Matrix2(0.7, -0.1, -0.2, 0.6);
        let Matrix2(a, b, c, d) = root.product(root).product(complement);
        assert!((a - 1.0).abs() < 1e-14 && (d - 1.0).abs() < 1e-14);
        assert!(b.abs() < 1e-14 && c.abs() < 1e-14);
        assert_eq!(Matrix2(1.0, 0.0, 0.0, 0.0).inverse_root_of_complement(), None);
    }
}
