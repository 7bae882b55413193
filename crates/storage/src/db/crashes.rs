//! Threads of the writer's connection that ended in a panic, as one does when SQLite has no memory left.
//!
//! The driver's own sign of that can be lost: a statement that is handed over while the thread is ending waits for its
//! answer for ever, and with it everything that is to be written. So a panic in such a thread is noted, and told once the
//! thread has ended and nothing can be handed to it any more.

use std::cell::Cell;
use std::sync::{LazyLock, Once};

use tokio::sync::watch;

/// Name of the threads that are watched.
pub(super) const WRITER_THREAD: &str = "sqlx-sqlite-writer";

/// Number of threads that have ended so.
static CRASHES: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

/// Tells of a crash when its thread ends.
#[derive(Default)]
struct TellsAtEnd {
    has_panicked: Cell<bool>,
}

impl Drop for TellsAtEnd {
    fn drop(&mut self) {
        if self.has_panicked.get() {
            CRASHES.send_modify(|crashes| *crashes += 1);
        }
    }
}

thread_local! {
    static END: TellsAtEnd = TellsAtEnd::default();
}

/// Crashes from now on.
pub(super) fn watch() -> watch::Receiver<u64> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let say = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() == Some(WRITER_THREAD) {
                END.with(|end| end.has_panicked.set(true));
            }
            say(panic);
        }));
    });
    CRASHES.subscribe()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_told_when_its_thread_has_ended() {
        let mut crashes = watch();
        let named = |name: &str, body: fn()| {
            std::thread::Builder::new().name(name.to_owned()).spawn(body).unwrap().join()
        };
        assert!(named(WRITER_THREAD, || ()).is_ok());
        assert!(named("another", || panic!("of no interest")).is_err());
        assert!(!crashes.has_changed().unwrap());
        assert!(named(WRITER_THREAD, || panic!("no memory")).is_err());
        crashes.changed().await.unwrap();
    }
}
