//! Do the found users split as the share says?

use crate::reason::Defined;
use crate::sample_ratio::SequentialSampleRatio;

/// Users for whom a playbook was found so far in an epoch, by the end of some day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FoundUsers {
    /// Those who got it.
    pub served: u64,
    /// Those from whom it was withheld.
    pub withheld: u64,
}

/// The sequential sample ratio of one epoch, looked at once for each day, oldest first, with the counts so far.
///
/// It is computed anew from the whole series, so that nothing has to be kept between looks, and an export of
/// the series gives the same p-value. Compare it with
/// [`level_of_one_check`](crate::sample_ratio::level_of_one_check) over all epochs that are checked. Null if
/// the share is not strictly between 0 and 1.
pub fn sample_ratio(daily: &[FoundUsers], share: f64) -> Defined<SequentialSampleRatio> {
    let mut ratio = SequentialSampleRatio::new(share)?;
    for found in daily {
        ratio.look(found.served, found.withheld);
    }
    Ok(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_ratio::level_of_one_check;

    #[test]
    fn a_mismatch_is_not_forgotten() {
        let found = |served, withheld| FoundUsers { served, withheld };
        let fine: Vec<_> = (1..60).map(|day| found(8 * day, 2 * day)).collect();
        let ratio = sample_ratio(&fine, 0.2);
        assert!(ratio.is_ok_and(|ratio| !ratio.is_mismatch()));
        let lost: Vec<_> = [found(800, 20)].into_iter().chain(fine).collect();
        let ratio = sample_ratio(&lost, 0.2);
        assert!(ratio.is_ok_and(|ratio| ratio.is_mismatch_at(level_of_one_check(500))));
        assert!(sample_ratio(&[], 0.2).is_ok_and(|ratio| ratio.p_value() >= 1.0));
        assert!(sample_ratio(&lost, 0.0).is_err());
    }
}
