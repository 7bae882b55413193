//! Coverage of 95 % intervals where these experiments live: a small holdout, few users, heavy users, high
//! success. Simulated, so the truth is known.
//!
//!   cargo run --release --example bench_interval_coverage
//!
//! Each repetition draws users with success rates of their own (beta, mean 92 %) and numbers of sessions that differ
//! widely, and no difference between the arms. Prints the share of intervals that contain zero, and their width.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

use base::vocabulary::Vocabulary;
use clap::Parser;
use stats::{Arm, CiMethod, Comparison, UserSum};

#[derive(Parser)]
struct Args {
    #[arg(long, default_value_t = 4000)]
    repetitions: u32,
    #[arg(long, default_value_t = 200)]
    users: u32,
    /// Users in the holdout
    #[arg(long, default_value_t = 10)]
    holdout: u32,
    #[arg(long, default_value_t = 0.92)]
    success: f64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Gamma of whole shape: a sum of exponentials.
    fn gamma(&mut self, shape: u32) -> f64 {
        (0..shape).map(|_| -(1.0 - self.unit()).ln()).sum()
    }

    /// A user: a rate around the mean, and from one to some dozens of sessions.
    fn user(&mut self, success: f64) -> UserSum {
        let shape = 25;
        let good = ((success * f64::from(shape)).round() as u32).clamp(1, shape - 1);
        let (a, b) = (self.gamma(good), self.gamma(shape - good));
        let rate = a / (a + b);
        let sessions = (1.0 + 3.0 * self.gamma(1).powi(2)) as u64;
        let total = (0..sessions).filter(|_| self.unit() < rate).count() as i64;
        UserSum { sessions, total }
    }
}

fn main() {
    let args = Args::parse();
    let mut dice = Dice(args.seed);
    let mut found: Vec<_> = CiMethod::ALL.iter().map(|method| (*method, 0u32, 0u32, 0.0)).collect();
    for _ in 0..args.repetitions {
        let mut arm = |users: u32| -> Arm { (0..users).map(|_| dice.user(args.success)).collect() };
        let (treatment, holdout) = (arm(args.users - args.holdout), arm(args.holdout));
        let comparison = Comparison::new(&treatment, &holdout);
        for (method, given, contained, width) in &mut found {
            // No interval claims nothing: it is neither right nor wrong.
            if let Ok(interval) = comparison.interval(*method) {
                *given += 1;
                *contained += u32::from(interval.contains(0.0));
                *width += interval.width();
            }
        }
    }
    println!("{} users, {} held out, success {}", args.users, args.holdout, args.success);
    println!("| interval | given | contains the truth | mean width |");
    println!("|---|---|---|---|");
    for (method, given, contained, width) in found {
        println!(
            "| {} | {given} | {:.1} % | {:.1} pp |",
            method.as_str(),
            100.0 * f64::from(contained) / f64::from(given),
            100.0 * width / f64::from(given)
        );
    }
}
