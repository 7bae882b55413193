//! Logistic regression with an L2 penalty, on sparse rows.
//!
//! For rows `x_i` and labels `y_i ∈ {0, 1}` it minimises
//!
//! `f(w, b) = Σ [log(1 + exp(s_i)) − y_i·s_i] + λ/2·‖w‖²`, with `s_i = w·x_i + b`,
//!
//! whose gradient is `Σ (σ(s_i) − y_i)·x_i + λw`, and `Σ (σ(s_i) − y_i)` for the intercept, which bears no penalty.
//! `f` is convex, so that any descent that converges finds the one answer; this one is L-BFGS (Nocedal, 1980): the
//! step is `−H·g`, where `H` approximates the inverse Hessian from the last few steps `s` and changes of the gradient
//! `y` by the two-loop recursion, and its length is halved until the function falls enough (Armijo).
//!
//! Crates were looked at: linfa-logistic takes dense matrices only, which are a hundred times as large here, and
//! argmin brings more code than these loops.

/// A row: the columns that are not zero, and their values.
pub type Row = Vec<(u32, f32)>;

/// Weights of columns, and the intercept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    pub columns: Vec<f64>,
    pub intercept: f64,
}

impl Weights {
    /// `w·x + b`.
    pub fn score(&self, row: &Row) -> f64 {
        let products = row.iter().map(|(at, value)| self.columns[*at as usize] * f64::from(*value));
        self.intercept + products.sum::<f64>()
    }
}

/// How many steps are remembered.
const MEMORY: usize = 8;
const ITERATIONS: usize = 120;
/// The search ends when no iteration lowers the function by more than this share of it.
const TOLERANCE: f64 = 1e-5;

pub fn sigmoid(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// `log(1 + exp(score))` without overflow.
fn softplus(score: f64) -> f64 {
    score.max(0.0) + (-score.abs()).exp().ln_1p()
}

/// Fits to the rows with these labels. `start` is where the search begins; it changes how long the search takes and,
/// but for rounding, not what it finds.
pub fn fit(rows: &[&Row], labels: &[bool], penalty: f64, start: Weights) -> Weights {
    let columns = start.columns.len();
    // The intercept is the last entry.
    let mut at = start.columns;
    at.push(start.intercept);
    let problem = Problem { rows, labels, penalty, columns };
    let mut gradient = vec![0.0; columns + 1];
    let mut value = problem.value_and_gradient(&at, &mut gradient);
    let mut history: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::with_capacity(MEMORY);
    let mut next_gradient = vec![0.0; columns + 1];
    for _ in 0..ITERATIONS {
        let direction = direction(&gradient, &history);
        let slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            break;
        }
        // The first direction is the gradient itself, whose length says nothing.
        let mut length = if history.is_empty() { 1.0 / norm(&gradient).max(1.0) } else { 1.0 };
        let (next, next_value) = loop {
            let next: Vec<f64> = at.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
            let next_value = problem.value_and_gradient(&next, &mut next_gradient);
            if next_value <= value + 1e-4 * length * slope || length < 1e-10 {
                break (next, next_value);
            }
            length /= 2.0;
        };
        if next_value > value {
            break;
        }
        let step: Vec<f64> = next.iter().zip(&at).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&step, &change);
        if curvature > 1e-12 {
            if history.len() == MEMORY {
                history.remove(0);
            }
            history.push((step, change, 1.0 / curvature));
        }
        let gain = value - next_value;
        at = next;
        value = next_value;
        std::mem::swap(&mut gradient, &mut next_gradient);
        if gain <= TOLERANCE * value.abs().max(1e-9) {
            break;
        }
    }
    let intercept = at.pop().unwrap_or(0.0);
    Weights { columns: at, intercept }
}

struct Problem<'a> {
    rows: &'a [&'a Row],
    labels: &'a [bool],
    penalty: f64,
    columns: usize,
}

impl Problem<'_> {
    fn value_and_gradient(&self, at: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (place, weight) in gradient.iter_mut().zip(&at[..self.columns]) {
            *place = self.penalty * weight;
            value += weight * weight;
        }
        value *= self.penalty / 2.0;
        gradient[self.columns] = 0.0;
        for (row, label) in self.rows.iter().zip(self.labels) {
            let products = row.iter().map(|(column, x)| at[*column as usize] * f64::from(*x));
            let score = at[self.columns] + products.sum::<f64>();
            let truth = f64::from(u8::from(*label));
            value += softplus(score) - truth * score;
            let error = sigmoid(score) - truth;
            for (column, x) in row.iter() {
                gradient[*column as usize] += error * f64::from(*x);
            }
            gradient[self.columns] += error;
        }
        value
    }
}

/// `−H·g` by the two-loop recursion.
fn direction(gradient: &[f64], history: &[(Vec<f64>, Vec<f64>, f64)]) -> Vec<f64> {
    let mut result: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut alphas = Vec::with_capacity(history.len());
    for (step, change, inverse) in history.iter().rev() {
        let alpha = inverse * dot(step, &result);
        add(&mut result, -alpha, change);
        alphas.push(alpha);
    }
    if let Some((_, change, inverse)) = history.last() {
        let scale = 1.0 / (inverse * dot(change, change));
        result.iter_mut().for_each(|x| *x *= scale);
    }
    for ((step, change, inverse), alpha) in history.iter().zip(alphas.into_iter().rev()) {
        let beta = inverse * dot(change, &result);
        add(&mut result, alpha - beta, step);
    }
    result
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add(to: &mut [f64], times: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(a, b)| *a += times * b);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One column and a large sample: the answer has a closed form, the log odds of either side.
    #[test]
    fn without_penalty_it_finds_the_log_odds() {
        let rows: Vec<Row> =
            (0..100).map(|n| if n < 50 { vec![(0, 1.0)] } else { vec![] }).collect();
        let labels: Vec<bool> = (0..100).map(|n| if n < 50 { n < 40 } else { n < 60 }).collect();
        let start = Weights { columns: vec![0.0], intercept: 0.0 };
        let found = fit(&rows.iter().collect::<Vec<_>>(), &labels, 1e-9, start);
        assert!((found.intercept - (0.2f64 / 0.8).ln()).abs() < 1e-3, "{found:?}");
        assert!((found.columns[0] - (4f64.ln() - 0.25f64.ln())).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn the_gradient_is_zero_at_what_it_finds_wherever_it_starts() {
        let rows: Vec<Row> = (0..60u32)
            .map(|n| (0..7).filter(|c| (n * 7 + c * 3) % 5 < 2).map(|c| (c, 1.0)).collect())
            .collect();
        let rows: Vec<&Row> = rows.iter().collect();
        let labels: Vec<bool> = (0..60).map(|n| (n * n) % 7 < 3).collect();
        let one = fit(&rows, &labels, 0.5, Weights { columns: vec![0.0; 7], intercept: 0.0 });
        let two = fit(&rows, &labels, 0.5, Weights { columns: vec![2.0; 7], intercept: -1.0 });
        for (a, b) in one.columns.iter().zip(&two.columns) {
            assert!((a - b).abs() < 5e-3, "{one:?} {two:?}");
        }
        let problem = Problem { rows: &rows, labels: &labels, penalty: 0.5, columns: 7 };
        let mut at = one.columns.clone();
        at.push(one.intercept);
        let mut gradient = vec![0.0; 8];
        problem.value_and_gradient(&at, &mut gradient);
        assert!(norm(&gradient) < 0.05, "{gradient:?}");
    }
}
