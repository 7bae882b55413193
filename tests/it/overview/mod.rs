//! The overview: equal to its definitions on every data set, its sums true after every history.

mod brute;
mod chances;
mod endpoints;
mod evidence;
mod histories;
mod known_sums;
mod random;
mod weights;

use serde_json::Value;

use crate::support::TestApp;

/// Lines of the rollups that are not what the rows say: always none.
pub async fn wrong_sums(t: &TestApp) -> Vec<(&'static str, u64)> {
    t.app
        .db
        .read("test.rollups", (), |tx, ()| Box::pin(service::evaluation::overview::mismatches(tx)))
        .await
        .unwrap()
}

/// Compares two answers number by number; floats may differ by rounding.
pub fn assert_same(found: &Value, wanted: &Value, place: &str, about: &dyn Fn() -> String) {
    match (found, wanted) {
        (Value::Object(one), Value::Object(two)) => {
            let names = |object: &serde_json::Map<String, Value>| {
                let mut names: Vec<_> = object.keys().cloned().collect();
                names.sort();
                names
            };
            assert_eq!(names(one), names(two), "{place} {}", about());
            for (name, value) in one {
                assert_same(value, &two[name], &format!("{place}/{name}"), about);
            }
        }
        (Value::Array(one), Value::Array(two)) => {
            assert_eq!(one.len(), two.len(), "{place}: {found} instead of {wanted}; {}", about());
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                assert_same(one, two, &format!("{place}/{index}"), about);
            }
        }
        (Value::Number(one), Value::Number(two)) => {
            let (one, two) = (one.as_f64().unwrap(), two.as_f64().unwrap());
            let close = (one - two).abs() <= 1e-9 * one.abs().max(two.abs()).max(1.0);
            assert!(close, "{place}: {one} instead of {two}; {}", about());
        }
        _ => assert_eq!(found, wanted, "{place} {}", about()),
    }
}
