//! What a transaction does, apart from the types of what it is given and gives back.
//!
//! The program reads and writes in some three hundred places. Only the body of each depends on its types and is compiled
//! once for each; beginning, repeating and ending a transaction is compiled once for each engine.

use std::any::Any;
use std::marker::PhantomData;

use super::{Tx, Work};
use crate::error::{Error, Result};

/// What the body of a transaction gave, whatever it is.
pub(super) type Found = Box<dyn Any + Send>;

/// The body of a transaction, with its input. It may run more than once.
pub(super) trait Body: Send + Sync {
    fn run<'t>(&'t self, tx: &'t mut Tx) -> Work<'t, Found>;
}

/// A body whose types are known: what `work` gives for `input`.
pub(super) struct Typed<I, T, F> {
    input: I,
    work: F,
    gives: PhantomData<fn() -> T>,
}

pub(super) fn body<I, T, F>(input: I, work: F) -> Typed<I, T, F>
where
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T>,
{
    Typed { input, work, gives: PhantomData }
}

impl<I, T, F> Body for Typed<I, T, F>
where
    I: Send + Sync,
    T: Send + 'static,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
{
    fn run<'t>(&'t self, tx: &'t mut Tx) -> Work<'t, Found> {
        let work = (self.work)(tx, &self.input);
        Box::pin(async move { Ok(Box::new(work.await?) as Found) })
    }
}

/// What a [`Typed`] body gave.
pub(super) fn typed<T: 'static>(found: Found) -> Result<T> {
    match found.downcast() {
        Ok(found) => Ok(*found),
        Err(_) => Err(Error::Internal("a transaction gave something of another type".to_owned())),
    }
}
