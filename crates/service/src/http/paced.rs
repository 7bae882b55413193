//! A socket with patience that ends: for a client that does not read, and at the close for one that is still sending.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::connections::Connection;

/// A refused body is read on for this long, and this far, so that its sender gets to read the answer instead of a
/// reset connection.
const LINGER: Duration = Duration::from_secs(5);
const LINGER_BYTES: usize = 64 << 20;

pub struct Paced {
    stream: TcpStream,
    connection: Arc<Connection>,
    write_timeout: Duration,
    /// Set while the client does not take what is written.
    stalled: Option<Pin<Box<Sleep>>>,
    closing: Option<Closing>,
}

struct Closing {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl Paced {
    pub fn new(stream: TcpStream, connection: Arc<Connection>, write_timeout: Duration) -> Self {
        Paced { stream, connection, write_timeout, stalled: None, closing: None }
    }

    /// Ends the patience with a client that takes nothing.
    fn paced<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            self.connection.moved();
            return written;
        }
        let timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.connection.moved();
        }
        read
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.paced(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.paced(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.paced(context, flushed)
    }

    /// Says that nothing more will be written; then, if a body was refused unread, reads it to its end within bounds.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            if !this.connection.lingers() {
                return Poll::Ready(Ok(()));
            }
            let until = Box::pin(sleep(LINGER));
            this.closing = Some(Closing { until, left: LINGER_BYTES });
        }
        let Some(closing) = &mut this.closing else { return Poll::Ready(Ok(())) };
        let mut scratch = [0; 16 << 10];
        loop {
            if closing.left == 0 || closing.until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer))?;
            match buffer.filled().len() {
                0 => return Poll::Ready(Ok(())),
                read => closing.left = closing.left.saturating_sub(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::super::connections::{Connections, Limits};
    use super::*;

    #[tokio::test]
    async fn patience_with_a_client_that_does_not_read_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let place = Connections::new(Limits::small(1)).admit(Ipv4Addr::LOCALHOST.into()).unwrap();
        let timeout = Duration::from_millis(200);
        let mut paced = Paced::new(stream, place.connection.clone(), timeout);
        let mut written = 0;
        let ended = loop {
            match paced.write(&[0; 65536]).await {
                Ok(length) => written += length,
                Err(error) => break error,
            }
        };
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
        assert!(written > 0);
        drop(client);
    }
}
