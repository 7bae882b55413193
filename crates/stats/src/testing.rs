//! Helpers shared by the tests of several formulas.

/// Asserts that two numbers agree, relative to the expected one.
pub fn close(actual: f64, expected: f64, tolerance: f64) {
    let error = (actual - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
    assert!(error <= tolerance, "{actual:e} is not {expected:e}: {error:e}");
}
