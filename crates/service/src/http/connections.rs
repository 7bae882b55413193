//! Open connections: how many there may be, from one address and in all, and which one has to go for a new one.
//!
//! At the limit a new connection takes the place of the one that has waited longest for its client: to send, or to
//! read. One with a request in work is left alone. If all have one, a few more are accepted that serve the health
//! endpoints only, so that whoever watches the server still sees it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::config::Server;

/// Connections beyond the limit, for the health endpoints.
const SPARE: usize = 32;
/// File descriptors that are kept for databases, logs and calls to other servers.
const OTHER_FILES: u64 = 128;
const MOST: u64 = 16_384;

/// How long a connection may take, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub header_timeout: Duration,
    pub write_timeout: Duration,
    pub total: usize,
    pub per_address: usize,
}

impl Limits {
    pub fn of(server: &Server) -> Self {
        let total = match server.max_connections {
            0 => fitting(),
            given => given,
        };
        let per_address = match server.max_connections_per_address {
            0 => (total / 4 * 3).max(1),
            given => given,
        };
        Limits {
            header_timeout: Duration::from_secs(server.header_timeout_seconds),
            write_timeout: Duration::from_secs(server.write_timeout_seconds),
            total,
            per_address,
        }
    }

    /// For a small server beside the main one, for example of metrics.
    pub fn small(header_timeout_seconds: u64) -> Self {
        Limits {
            header_timeout: Duration::from_secs(header_timeout_seconds),
            write_timeout: Duration::from_secs(20),
            total: 64,
            per_address: 64,
        }
    }
}

/// As many as the process may have files open, without those it needs itself.
fn fitting() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = files.unwrap_or(MOST);
    let fitting = files.saturating_sub(OTHER_FILES + SPARE as u64).max(files / 4).min(MOST);
    usize::try_from(fitting).unwrap_or(usize::MAX).max(1)
}

/// The connections of one server.
pub struct Connections {
    limits: Limits,
    begun: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    by_number: HashMap<u64, Arc<Connection>>,
    by_address: HashMap<IpAddr, usize>,
    spare: usize,
}

/// One open connection.
pub struct Connection {
    number: u64,
    address: IpAddr,
    begun: Instant,
    /// Milliseconds after `begun` at which something was last read or written.
    moved_at: AtomicU64,
    requests: AtomicU32,
    lingers: AtomicBool,
    /// True if it serves the health endpoints only.
    pub spare: bool,
    /// Cancelled when it has to go.
    pub ending: CancellationToken,
}

impl Connection {
    /// Notes that bytes came or went.
    pub fn moved(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved_at.store(now, Ordering::Relaxed);
    }

    /// True while a request is in work.
    pub fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    /// Marks a request as in work until the guard is dropped.
    pub fn begin_request(self: &Arc<Self>) -> InWork {
        self.requests.fetch_add(1, Ordering::Relaxed);
        InWork(self.clone())
    }

    /// Reads on for a while before it closes, because the client is still sending.
    pub fn linger(&self) {
        self.lingers.store(true, Ordering::Relaxed);
    }

    pub fn lingers(&self) -> bool {
        self.lingers.load(Ordering::Relaxed)
    }
}

pub struct InWork(Arc<Connection>);

impl Drop for InWork {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
        self.0.moved();
    }
}

/// A connection's place, given back when it is dropped.
pub struct Place {
    connections: Arc<Connections>,
    pub connection: Arc<Connection>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.remove(&self.connection);
    }
}

impl Connections {
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Connections { limits, begun: Instant::now(), open: Mutex::default() })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection, if need be that of another one; none when the server has no room at all.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = network_of(address);
        let mut open = self.open();
        let of_address = open.by_address.get(&address).copied().unwrap_or(0);
        let from_there = of_address >= self.limits.per_address;
        let full = open.by_number.len() - open.spare >= self.limits.total;
        let mut spare = false;
        if from_there || full {
            let mut leaving = open.longest_waiting(from_there.then_some(address), false);
            if leaving.is_none() {
                spare = true;
                if open.spare >= SPARE {
                    leaving = open.longest_waiting(None, true);
                    if leaving.is_none() {
                        metrics::counter!("evenhand_connections_refused_total").increment(1);
                        return None;
                    }
                }
            }
            if let Some(leaving) = leaving {
                leaving.ending.cancel();
                open.remove(&leaving);
                metrics::counter!("evenhand_connections_pushed_out_total").increment(1);
            }
        }
        let connection = Arc::new(Connection {
            number: open.next,
            address,
            begun: self.begun,
            moved_at: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            lingers: AtomicBool::new(false),
            spare,
            ending: CancellationToken::new(),
        });
        connection.moved();
        open.next += 1;
        open.spare += usize::from(spare);
        *open.by_address.entry(address).or_default() += 1;
        open.by_number.insert(connection.number, connection.clone());
        Some(Place { connections: self.clone(), connection })
    }

    fn remove(&self, connection: &Connection) {
        self.open().remove(connection);
    }
}

impl Open {
    fn longest_waiting(&self, from: Option<IpAddr>, spare: bool) -> Option<Arc<Connection>> {
        let waiting = self.by_number.values().filter(|connection| {
            !connection.is_busy()
                && connection.spare == spare
                && from.is_none_or(|address| address == connection.address)
        });
        waiting
            .min_by_key(|connection| {
                (connection.moved_at.load(Ordering::Relaxed), connection.number)
            })
            .cloned()
    }

    fn remove(&mut self, connection: &Connection) {
        if self.by_number.remove(&connection.number).is_none() {
            return;
        }
        self.spare -= usize::from(connection.spare);
        if let Some(count) = self.by_address.get_mut(&connection.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&connection.address);
            }
        }
    }
}

/// The part of an address that one customer has for themselves: whoever has one address of IPv6 has a network of them.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(total: usize, per_address: usize) -> Arc<Connections> {
        let timeout = Duration::from_secs(1);
        let limits = Limits { header_timeout: timeout, write_timeout: timeout, total, per_address };
        Connections::new(limits)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_one_that_waited_longest_makes_room() {
        let connections = limits(2, 2);
        let first = connections.admit(address(1)).unwrap();
        let second = connections.admit(address(2)).unwrap();
        let third = connections.admit(address(3)).unwrap();
        assert!(first.connection.ending.is_cancelled());
        assert!(!second.connection.ending.is_cancelled());
        // Its place is given back once only.
        drop(first);
        let _work = second.connection.begin_request();
        let _fourth = connections.admit(address(4)).unwrap();
        assert!(!second.connection.ending.is_cancelled(), "it is answering");
        assert!(third.connection.ending.is_cancelled());
    }

    #[test]
    fn an_address_beyond_its_share_pushes_out_its_own() {
        let connections = limits(10, 2);
        let other = connections.admit(address(1)).unwrap();
        let first = connections.admit(address(2)).unwrap();
        let _second = connections.admit(address(2)).unwrap();
        let _third = connections.admit(address(2)).unwrap();
        assert!(first.connection.ending.is_cancelled());
        assert!(!other.connection.ending.is_cancelled());
    }

    #[test]
    fn when_all_are_busy_a_few_are_left_for_health() {
        let connections = limits(1, 1000);
        let place = connections.admit(address(1)).unwrap();
        let _work = place.connection.begin_request();
        let spare: Vec<_> = (0..SPARE).map(|_| connections.admit(address(2)).unwrap()).collect();
        assert!(spare.iter().all(|place| place.connection.spare));
        let _working: Vec<_> = spare.iter().map(|p| p.connection.begin_request()).collect();
        assert!(connections.admit(address(3)).is_none());
        drop(_working);
        drop(spare);
        assert!(connections.admit(address(3)).unwrap().connection.spare);
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let near = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9"].map(|a| a.parse().unwrap());
        assert_eq!(network_of(near[0]), network_of(near[1]));
        assert_ne!(network_of(near[0]), network_of("2001:db8:1:3::1".parse().unwrap()));
        assert_eq!(network_of("::ffff:10.0.0.1".parse().unwrap()), address(1));
    }
}
