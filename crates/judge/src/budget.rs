//! Judge spending of this process today (UTC). A call reserves the most it may cost and settles for its
//! actual cost, so that concurrent calls cannot pass the limit either.

use std::sync::{Mutex, MutexGuard, PoisonError};

use base::clock::Clock;

const DAY: i64 = 86_400;

pub struct Budget {
    clock: Clock,
    /// US dollars a day; 0 means no limit.
    limit: f64,
    today: Mutex<Today>,
}

#[derive(Default)]
struct Today {
    day: i64,
    spent: f64,
    reserved: f64,
}

/// Money put aside for one call. Dropped without `settle` it is given back.
pub struct Reservation<'a> {
    budget: &'a Budget,
    day: i64,
    amount: f64,
}

impl Budget {
    pub fn new(clock: Clock, limit: f64) -> Self {
        Budget { clock, limit, today: Mutex::default() }
    }

    pub fn is_limited(&self) -> bool {
        self.limit > 0.0
    }

    pub fn limit(&self) -> f64 {
        self.limit
    }

    pub fn spent(&self) -> f64 {
        self.today().spent
    }

    /// Adds spending recorded elsewhere today: before a restart, or by other replicas.
    pub fn add(&self, dollars: f64) {
        self.today().spent += dollars.max(0.0);
    }

    /// True if the day's budget is used up. Reserves nothing.
    pub fn is_spent(&self) -> bool {
        let today = self.today();
        self.is_limited() && today.spent >= self.limit
    }

    /// Sets `amount` aside, or nothing if it would pass the limit.
    pub fn reserve(&self, amount: f64) -> Option<Reservation<'_>> {
        let mut today = self.today();
        if self.is_limited() && today.spent + today.reserved + amount > self.limit {
            return None;
        }
        today.reserved += amount;
        Some(Reservation { budget: self, day: today.day, amount })
    }

    fn today(&self) -> MutexGuard<'_, Today> {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let day = self.clock.now().div_euclid(DAY);
        if day != today.day {
            *today = Today { day, spent: 0.0, reserved: 0.0 };
        }
        today
    }
}

impl Reservation<'_> {
    /// Turns the reservation into what the call did cost.
    pub fn settle(self, dollars: f64) {
        self.budget.today().spent += dollars;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut today = self.budget.today();
        if today.day == self.day {
            today.reserved = (today.reserved - self.amount).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_hold_the_limit_and_the_next_day_starts_anew() {
        let clock = Clock::manual(DAY * 20_000 + 100);
        let budget = Budget::new(clock.clone(), 1.0);
        let first = budget.reserve(0.6).unwrap();
        assert!(budget.reserve(0.6).is_none(), "two calls under way may not pass the limit");
        first.settle(0.2);
        assert!((budget.spent() - 0.2).abs() < 1e-12);
        drop(budget.reserve(0.7).unwrap());
        budget.add(0.8);
        assert!(budget.is_spent());
        assert!(budget.reserve(0.01).is_none());
        clock.advance(DAY);
        assert!(!budget.is_spent());
        assert!(budget.reserve(1.0).is_some());
    }

    #[test]
    fn without_a_limit_spending_is_only_counted() {
        let budget = Budget::new(Clock::manual(0), 0.0);
        budget.reserve(1e6).unwrap().settle(1e6);
        assert!(!budget.is_spent());
        assert!(budget.spent() > 1e5);
    }
}
